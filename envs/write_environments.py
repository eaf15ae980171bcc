"""Write the conda environments of the stages from requirements.lock: `make envs`.

conda gives Python and pip; pip installs the wheels that `make environment` installs. So jobs use
the same builds either way, and conda has nothing to solve that its channels may lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
LOCK = HERE.parent / "requirements.lock"
PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0"}
# What the code of a stage imports; tests/unit/test_environments.py compares the two.
STAGES = {
    "corpus": """
        backports-zstd huggingface-hub mwparserfromhell numpy pandas pyarrow pydantic
        pydantic-core pyyaml requests urllib3
    """,
    "vocabulary": """
        backports-zstd gensim llvmlite numba numpy pandas protobuf pyarrow pydantic pydantic-core
        sentencepiece tokenizers
    """,
    "analyse": """
        backports-zstd numba numpy pandas protobuf pyarrow scikit-learn scipy sentencepiece
        threadpoolctl tokenizers
    """,
    "models": """
        accelerate backports-zstd datasets numba numpy pandas protobuf pyarrow pydantic
        pydantic-core safetensors scikit-learn scipy sentencepiece seqeval tokenizers torch
        transformers
    """,
    "paper": """
        backports-zstd jinja2 markdown-it-py markupsafe matplotlib numba numpy pandas protobuf
        pyarrow pydantic pydantic-core pyyaml scikit-learn scipy sentencepiece seqeval
        threadpoolctl tokenizers
    """,
}
# The demo reads texts that these packages ship: treebanks, news, licences.
TEXTS = {
    "corpus": """
        docutils gensim matplotlib pathspec pillow transformers turkish-treebanks typing-extensions
    """,
}
FRAME = """\
# Written by `make envs` from requirements.lock.
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python =3.11
  - pip
  - pip:
"""


def environment(stage: str) -> str:
    """Return the conda environment of a stage, as YAML."""
    lines = locked([*STAGES[stage].split(), *TEXTS.get(stage, "").split()])
    return FRAME + "".join(f"      - {line}\n" for line in lines)


def locked(names: Iterable[str]) -> list[str]:
    """Return the lines of the lock for packages and for all that these require, on Python 3.11.

    Raises:
        ValueError: the lock has no such package.
    """
    lines = {}
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(PYTHON):
            lines[requirement.name] = line
    if missing := set(names) - set(lines):
        raise ValueError(f"requirements.lock has no {', '.join(sorted(missing))}")
    needed: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset[str]()) for name in names]
    while waiting:
        package = waiting.pop()
        if package not in needed and package[0] in lines:
            needed.add(package)
            waiting += _requirements(*package)
    found = {name for name, _ in needed}
    return [line for name, line in lines.items() if name in found]


def _requirements(name: str, extras: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield what an installed package requires, with extras: names and their extras."""
    for required in map(Requirement, metadata.requires(name) or []):
        optional = "extra" in str(required.marker)
        if not optional or any(required.marker.evaluate({"extra": extra}) for extra in extras):
            yield canonicalize_name(required.name), frozenset(required.extras)


if __name__ == "__main__":
    for stage in STAGES:
        (HERE / f"{stage}.yaml").write_text(environment(stage), encoding="utf-8")
