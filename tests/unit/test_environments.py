"""What is installed: the environments of the stages are those of the lock, the wheel is whole."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest

import stages

ENVIRONMENTS = stages.load_environments()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the environments are those of Python 3.11")
@pytest.mark.parametrize("stage", ENVIRONMENTS.STAGES)
def test_an_environment_is_what_the_lock_says(stage: str) -> None:
    written = (ENVIRONMENTS.HERE / f"{stage}.yaml").read_text(encoding="utf-8")
    assert written == ENVIRONMENTS.environment(stage), "run make envs"


def test_stages_declare_what_their_code_imports_and_nothing_else() -> None:
    names = metadata.packages_distributions()
    # `google` is of every package that ships protocol buffers. sentencepiece reads its models with
    # them and does not require them; nor does pandas require pyarrow, which writes its tables.
    names |= {"google": ["protobuf"], "sentencepiece": ["protobuf", "sentencepiece"]}
    names |= {"pandas": ["pandas", "pyarrow"], "backports": ["backports-zstd"]}
    imported = {
        stage: {
            name.lower().replace("_", "-")
            for module in stages.imports(code).values()
            for name in names[module]
        }
        for stage, code in stages.sources().items()
    }
    assert imported == {stage: set(text.split()) for stage, text in ENVIRONMENTS.STAGES.items()}
