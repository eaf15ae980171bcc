"""Make the environments in which other people's programs run, each with its own packages.

    python benchmarks/peers/make_environments.py [FOLDER] [--only NAME ...]

FOLDER is `.peers` by default, which git ignores. Nothing of this project is installed there.
SaGe 1.0 is on no package index: `sage_1` holds only what it needs. For the program itself see
`run_sage_1.py`.
"""

from __future__ import annotations

import argparse
import subprocess
import venv
from pathlib import Path

FOLDER = Path(".peers")
ENVIRONMENTS = {
    "sage_tokenizer_2": [
        "sage-tokenizer==2.0.0", "gensim==4.3.2", "scipy==1.12.0", "numpy==1.26.4"
    ],
    "sage_1": [
        "sentencepiece==0.1.99", "gensim==4.3.2", "scipy==1.12.0", "numpy==1.26.4", "tqdm>=4.66"
    ],
}  # fmt: skip


def python_of(name: str, folder: str | Path = FOLDER) -> Path:
    """Return the interpreter of an environment.

    Raises:
        SystemExit: it has not been made; the message says how.
    """
    path = Path(folder) / name / "bin" / "python"
    if not path.exists():
        raise SystemExit(
            f"{path}: missing; run python {Path(__file__).name} {folder} --only {name}"
        )
    return path.absolute()


def make(name: str, folder: Path) -> None:
    """Make one environment; what is there already stays."""
    target = folder / name
    venv.create(target, with_pip=True)
    pip = [target / "bin" / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run(
        [*pip, "--disable-pip-version-check", "--only-binary", ":all:", *ENVIRONMENTS[name]],
        check=True,
    )


def main() -> None:
    """Read the command line and make what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--only", nargs="+", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    arguments = parser.parse_args()
    for name in arguments.only:
        make(name, arguments.folder)
        print(python_of(name, arguments.folder))


if __name__ == "__main__":
    main()
