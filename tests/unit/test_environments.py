"""What is installed: the environments of the stages are those of the lock, the wheel is whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

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
    names |= {"pandas": ["pandas", "pyarrow"]}
    imported = {
        stage: {
            name.lower().replace("_", "-")
            for module in stages.imports(code).values()
            for name in names[module]
        }
        for stage, code in stages.sources().items()
    }
    assert imported == {stage: set(text.split()) for stage, text in ENVIRONMENTS.STAGES.items()}


def test_the_wheel_has_the_whole_library_and_nothing_else(tmp_path: Path) -> None:
    source, library = tmp_path / "source", Path("src/sagevocab")
    unwritten = shutil.ignore_patterns("__pycache__")
    shutil.copytree(stages.ROOT / library, source / library, ignore=unwritten)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(stages.ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    files = {name for name in ZipFile(wheel).namelist() if not name.split("/")[0].endswith("info")}
    below = source / library.parent
    built = {
        path.relative_to(below).as_posix()
        for path in below.glob("sagevocab/**/*")
        if path.is_file()
    }
    assert files == built
