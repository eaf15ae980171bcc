"""The reproduction of "Incorporating Context into Subword Vocabularies" (EACL 2023).

Not installed: the Snakefile puts this folder's parent and `src` on the search path. Of `data`,
`analysis`, `lm` and `paper`, none imports a later one; all may import `sagevocab`.
"""

import sys
from types import TracebackType


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an error, but none for Ctrl-C, which Snakemake reports."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _report
