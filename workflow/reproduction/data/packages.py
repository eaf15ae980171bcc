"""Files that installed packages ship, found without importing the packages."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sagevocab.errors import UserError


def package_file(name: str, key: str = "source") -> Path:
    """Find "package:path/in/it", a file that an installed package ships, without importing it.

    The package is a module or a distribution. In a distribution, the path starts where its files
    are installed (`turkish-treebanks:data/wiki.conllu`) or in its folder of metadata
    (`pillow:licenses/LICENSE`).
    key: configuration key of the source, for messages.

    Raises:
        UserError: no such package, or no such file in it.
    """
    package, _, inside = name.partition(":")
    places: list[Path] = []
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec and spec.submodule_search_locations:
        places += [Path(folder, inside) for folder in spec.submodule_search_locations]
    with suppress(importlib.metadata.PackageNotFoundError, ValueError):
        distribution = importlib.metadata.distribution(package)
        places += [*_listed(distribution, inside), Path(distribution.locate_file(inside))]
    if not places:
        raise UserError(f"config key {key}.package: {package!r} is not installed; pip install it")
    for file in places:
        if file.is_file():
            return file
    raise UserError(
        f"config key {key}.package: {places[0]} does not exist; set `{key}.path` to a local copy"
    )


def _listed(distribution: importlib.metadata.Distribution, inside: str) -> Iterator[Path]:
    """Yield the file that a distribution lists under this path, in or beside its metadata."""
    for file in distribution.files or ():
        in_metadata = file.parts[0].endswith(".dist-info")
        if inside == "/".join(file.parts[1:] if in_metadata else file.parts):
            yield Path(distribution.locate_file(file))
