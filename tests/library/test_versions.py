"""What a digest of the library's code sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from sagevocab import versions

CODE = '''"""What it is."""
import os  # a comment

# another
def f(x):
    """Do it."""
    mark, text = "#", f"{x} # no comment"  # é
    return """
# text

    """ + mark + text  # the last
'''
SAME = '''# licence
"""Another
docstring."""
import os
def f(x):
    # why
    mark, text = "#", f"{x} # no comment"

    return """
# text

    """ + mark + text
'''


@pytest.mark.parametrize(
    ("code", "discards"),
    [
        (SAME, False),
        (CODE.replace("# text", "# other text"), True),
        (CODE.replace("# no comment", ""), True),
        (CODE.replace("text\n\n    ", "text\n    "), True),
        (CODE.replace("+ mark", "- mark"), True),
    ],
)
def test_comments_and_docstrings_discard_no_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, discards: bool
) -> None:
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "versions.py"))
    digests = []
    for text in (CODE, code):
        (tmp_path / "module.py").write_text(text, encoding="utf-8")
        digests.append(versions.code_digest.__wrapped__())
    assert (digests[0] != digests[1]) == discards
