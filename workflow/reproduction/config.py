"""Reading the configuration: files, what overrides what, and where two of them differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from reproduction.data.sources import load_catalogue
from reproduction.run import Run
from reproduction.settings import KINDS, Configuration
from sagevocab.errors import SettingError, UserError
from sagevocab.validation import first_problem

# The loader in C is ten times as fast, and every job of a cluster reads the configuration.
_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CHECKOUT = Path(__file__).parents[2]
_PAPER, _CATALOGUE = _CHECKOUT / "config.yaml", _CHECKOUT / "workflow/resources/datasets.yaml"


class _KeyError(yaml.MarkedYAMLError):
    """A key stands twice in a mapping, or is none."""


class _Loader(_YAML_LOADER):
    """A loader that refuses a key that stands twice, of which YAML would take the second."""

    def get_single_node(self) -> yaml.Node | None:
        """Return the node of the file, before what `<<` names is copied into its mappings."""
        node = super().get_single_node()
        _check_keys(node)
        return node


def _check_keys(node: yaml.Node | None) -> None:
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_keys(value)
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            problem = "a key is text; put a value that begins with { or [ in quotes"
            raise _KeyError(problem=problem, problem_mark=key.start_mark)
        if key.value in lines:
            problem = f"{key.value} stands in line {lines[key.value]}, too; keep one of them"
            raise _KeyError(problem=problem, problem_mark=key.start_mark)
        lines[key.value] = key.start_mark.line + 1
        _check_keys(value)


# --- reading


def load_run(
    given: Mapping[str, Any],
    *,
    working_directory: bool = False,
    files: Sequence[Path | str] = (),
    command_line: Mapping[str, Any] | None = None,
) -> Run:
    """Return the run of the checked configuration: the paper's settings, overridden by the user's.

    The paper's settings are `config.yaml` of the checkout. `config.yaml` or `config/config.yaml` of
    the working directory overrides single keys of it, and `given` overrides both. Mappings are
    merged key by key; other values and lists are replaced, and so is a source, of which an override
    names another.

    Args:
        given: what Snakemake has read, or the workflow that uses this one as a module.
        working_directory: whether the user gave it to Snakemake: then the configuration in the
            working directory is read, too.
        files: those of `--configfile`, the last one first asked for a key.
        command_line: what `--config` says.

    Raises:
        UserError: a file can't be read, or what they say together can't be run.
    """
    config = _read_config(_PAPER)
    places: dict[str, dict[str, Any]] = {}
    for name in ("config.yaml", "config/config.yaml") if working_directory else ():
        path = Path(name)
        if path.is_file() and not path.samefile(_PAPER):
            places[name] = _read_config(path)
            _merge(config, places[name])
    _merge(config, given)
    # Snakemake has merged these, but takes the second of two equal keys in silence, and of two
    # sources some keys of each.
    for file in map(str, files):
        places[file] = _read_config(Path(file))
        _merge(config, places[file])
    _merge(config, _typed(command_line or {}))
    try:
        return Run(check_config(config), load_catalogue(_CATALOGUE))
    except SettingError as error:
        # `--config` overrides files, so one that says something else is not to blame.
        refused = _said(config, error.key)
        here = [file for file, said in places.items() if _decides(_said(said, error.key), refused)]
        where = f" (in {here[-1]}:{_line_of(here[-1], error.key)})" if here else ""
        raise UserError(f"config key {error}{where}") from error


def _typed(given: Any) -> Any:
    """Return settings with numbers in the place of text: `--config` leaves text in its braces."""
    if isinstance(given, Mapping):
        return {key: _typed(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_typed(value) for value in given]
    return _number(given) if isinstance(given, str) else given


def _number(text: str) -> Any:
    """Return the number, truth value or null that YAML reads from a text; else the text."""
    with suppress(yaml.YAMLError):
        value = yaml.safe_load(text)
        if value is None or isinstance(value, bool | int | float):
            return value
    return text


def _line_of(file: str, key: str) -> int:
    """Return the line of a dotted key in a YAML file, or of the section above it that is there."""
    node, line = yaml.compose(Path(file).read_text(encoding="utf-8"), Loader=_YAML_LOADER), 1
    for part in key.split("."):
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        found = next(((name, value) for name, value in pairs if name.value == part), None)
        if found is None:
            break
        name, node = found
        line = name.start_mark.line + 1
    return line


def _said(settings: Mapping[str, Any], key: str) -> Any:
    """Return what settings say at a dotted key or above it; `...` where they say nothing."""
    place: Any = settings
    for part in key.split("."):
        if not isinstance(place, Mapping):
            break
        place = place.get(part, ...)
    return place


def _decides(said: Any, refused: Any) -> bool:
    """Return whether what a file says is what is refused, or a part of it."""
    if isinstance(said, Mapping) and isinstance(refused, Mapping):
        return True
    return said is not ... and said == refused


def check_config(config: dict[str, Any]) -> Configuration:
    """Return the checked settings, with defaults; refuse what can't be run.

    A value has one form, 24.0 for 24, so that equal settings are equal parameters of jobs.

    Raises:
        SettingError: one line that names the key, what is wrong with it and what would be right.
    """
    _take_smaller_budget(config)
    try:
        return Configuration.model_validate(config)
    except ValidationError as error:
        raise first_problem(error, Configuration, config) from None


def _take_smaller_budget(config: dict[str, Any]) -> None:
    """Let one key be enough for a budget: `hours`, which config.yaml sets, gives way to `steps`."""
    with suppress(KeyError, TypeError, AttributeError):
        pretrain = config["lm"]["pretrain"]
        if pretrain.get("steps") is not None:
            pretrain["hours"] = None


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader) or {}
    except _KeyError as error:
        raise UserError(f"{path}:{error.problem_mark.line + 1}: {error.problem}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(
            f"{path}:{line}: is not YAML ({error.problem}); correct this line or the one before it"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(
            f"{path}: cannot be read as YAML ({error}); write it as UTF-8 text"
        ) from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: must hold keys and their values; write lines like seed: 1")
    return config


# Keys whose mappings say where something comes from. One that names another place says it all, but
# which data set it stands for.
_SOURCES = ("source", "morphology", "train", "validation")


def _merge(config: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            inner = config[key] if isinstance(config.get(key), dict) else {}
            if key in _SOURCES and any(value.get(kind) is not None for kind in KINDS):
                inner = {name: inner[name] for name in ("dataset",) if name in inner}
            config[key] = inner
            _merge(inner, value)
        else:
            config[key] = value


def value_at(settings: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key, the whole for none; None where there is none."""
    place: Any = settings
    for part in key.split(".") if key else ():
        place = place.get(part) if isinstance(place, Mapping) else None
    return place


if __name__ == "__main__":
    print(json.dumps(Configuration.model_json_schema(), ensure_ascii=False))
