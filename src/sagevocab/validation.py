"""What all settings share: types with bounds, and one line for each wrong value.

A group of settings is a class whose fields hold type, bounds, default and description. All else
comes from these classes: the check of the configuration and its JSON schema, and the options of
`sagevocab train` (`cli`).
"""

from __future__ import annotations

import difflib
import functools
import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

from pydantic import (
    ConfigDict,
    Field,
    Strict,
    StrictBool,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from sagevocab.errors import SettingError

# Strict: "3", 3.0 and true are not whole numbers, and "yes" is not a truth value.
Natural = Annotated[int, Strict(), Field(ge=0)]
Count = Annotated[int, Strict(), Field(ge=1)]
CountOrAll = Count | Literal["all"]
Size = Annotated[int, Strict(), Field(ge=1, le=2**30)]
Seed = Annotated[int, Strict(), Field(ge=0, le=2**32 - 1)]
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
Flag = StrictBool

Kind = TypeVar("Kind", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def settings(section: str) -> Callable[[Kind], Kind]:
    """Make a class a frozen dataclass that pydantic checks.

    Making an instance raises a SettingError, a UserError with the key of the first wrong field.

    Args:
        section: of the configuration that the fields are from.

    Returns:
        What decorates the class.
    """

    def decorate(cls: Kind) -> Kind:
        made = dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
        checked = made.__init__

        @functools.wraps(checked)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            values = {**dict(zip(made.__pydantic_fields__, args, strict=False)), **kwargs}
            values = {name: _whole(value) for name, value in values.items()}
            try:
                checked(self, **values)
            except ValidationError as error:
                raise first_problem(error, made, values).under(section) from None

        made.__init__ = init
        return made

    return decorate


def _whole(value: Any) -> Any:
    """Return an integer of any type, such as NumPy's, as one of Python; all else as it is."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    return int(value) if is_whole else value


def check_flags(**flags: Any) -> None:
    """Refuse arguments that are not truth values: text such as "no" would count as true.

    Raises:
        UserError: one is neither True nor False.
    """
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise SettingError(name, f"{value!r:.40} is not allowed; give True or False")


# --- one line for each wrong value


_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


def first_problem(error: ValidationError, kind: type, data: Mapping[str, Any]) -> SettingError:
    """Return the first problem of `data`, from which an instance of `kind` was to be made.

    An unknown key comes first: a misspelt one may be why another is missing.
    """
    details = sorted(error.errors(), key=lambda one: one["type"] not in _UNKNOWN)
    keys = [_key(one, data) for one in details]
    same = [one for one, key in zip(details, keys, strict=True) if key == keys[0]]
    cause = same[0].get("ctx", {}).get("error")
    if isinstance(cause, SettingError):
        return cause.under(".".join(keys[0]))
    if same[0]["type"] in _UNKNOWN:
        reason = unknown(keys[0][-1], _known_names(kind, keys[0][:-1]))
    else:
        reason = str(cause or _reason(same))
    return SettingError(".".join(keys[0]), reason)


def _key(detail: ErrorDetails, data: Any) -> tuple[str, ...]:
    """Return the key of an error; pydantic names the members of unions and places in lists too."""
    key: list[str] = []
    for part in detail["loc"][: -2 if detail["loc"][-1:] == ("[key]",) else None]:
        if isinstance(data, Mapping) and part in data:
            data = data[part]
        elif key and detail["type"] not in ("missing", *_UNKNOWN) or isinstance(data, list):
            break
        key.append(str(part))
    return tuple(key)


def unknown(name: str, known: Sequence[str]) -> str:
    """Return what to say of an unknown name: the nearest known one, or all."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"unknown; did you mean {close[0]}?" if close else f"unknown; known: {', '.join(known)}"


def _reason(details: Sequence[ErrorDetails]) -> str:
    """Return what is wrong with a value; a union has an error for each of its members."""
    first = details[0]
    if first["type"] == "missing":
        return "missing; give it a value"
    hint = ""
    if isinstance(first["input"], bool | int | float) and "string" in first["type"]:
        hint = "; put text that YAML reads as a number or a truth value in quotes"
    elif isinstance(first["input"], str) and first["type"] in ("int_type", "float_type"):
        hint = "; write numbers without quotes, and as 16000 or 1.0e-3, not 16k or 1e-3"
    wanted = " or ".join(dict.fromkeys(one["msg"] for one in details))
    return f"{reprlib.repr(first['input'])} is not allowed; {wanted[:1].lower() + wanted[1:]}{hint}"


def _known_names(kind: type, key: Sequence[str]) -> list[str]:
    """Return the names of the settings of a section; key: its dotted key, in parts."""
    schema = TypeAdapter(kind).json_schema()
    node = schema
    for part in (*key, None):
        node = next((one for one in node.get("anyOf", ()) if one != {"type": "null"}), node)
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
        # stanzas have names of the user's choice
        stanza = next(iter(node.get("patternProperties", {}).values()), {})
        node = node if part is None else node.get("properties", {}).get(part, stanza)
    return list(node.get("properties", {}))
