"""What all settings share: types with bounds, and one line for each wrong value.

A group of settings is a class whose fields hold type, bounds, default and description. All else
comes from these classes: the check of the configuration and its JSON schema, and the options of
`sagevocab train` (`cli`).
"""

from __future__ import annotations

import difflib
import functools
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

from pydantic import (
    AfterValidator,
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

# Strict: "3", 3.0 and true are no whole numbers, and "yes" is not a truth value.
Natural = Annotated[int, Strict(), Field(ge=0)]
Count = Annotated[int, Strict(), Field(ge=1)]
CountOrAll = Count | Literal["all"]
Size = Annotated[int, Strict(), Field(ge=1, le=2**30)]
Seed = Annotated[int, Strict(), Field(ge=0, le=2**32 - 1)]
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
InnerShare = Annotated[float, Strict(), Field(gt=0, lt=1)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Flag = StrictBool
_NAME = "^[A-Za-z][A-Za-z0-9_-]*$"
PACKAGED = "^[A-Za-z_][A-Za-z0-9_.-]*:.+$"
WIKIPEDIA = "^[a-z][a-z_-]+$"
DUMP_DATE = "^[0-9]{8}$"
Name = Annotated[str, Field(pattern=_NAME)]

Kind = TypeVar("Kind", bound=type)


def _distinct(values: list) -> list:
    for number, value in enumerate(values):
        if value in values[:number]:
            raise ValueError(f"{value!r} is there twice; name it once")
    return values


Distinct = (AfterValidator(_distinct), Field(json_schema_extra={"uniqueItems": True}))
Names = Annotated[list[Name], *Distinct]
Counts = Annotated[list[Count], *Distinct]
Seeds = Annotated[list[Seed], *Distinct]


def optional(description: str | None = None, **bounds: Any) -> Any:
    """Declare a field that may be left out, and that a filled configuration then leaves out."""
    return Field(default=None, exclude_if=_is_none, description=description, **bounds)


def _is_none(value: Any) -> bool:
    return value is None


@dataclass_transform(frozen_default=True, field_specifiers=(Field, optional))
def settings(section: str) -> Callable[[Kind], Kind]:
    """Make a class a frozen dataclass that pydantic checks.

    section: the section of the configuration that the fields are from. Making an instance raises a
    SettingError, a UserError with the key of the first wrong field.
    """

    def decorate(cls: Kind) -> Kind:
        made = dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
        checked = made.__init__

        @functools.wraps(checked)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            values = {**dict(zip(made.__pydantic_fields__, args, strict=False)), **kwargs}
            try:
                checked(self, **values)
            except ValidationError as error:
                raise first_problem(error, made, values).under(section) from None

        made.__init__ = init
        return made

    return decorate


# --- one line for each wrong value


_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "finite_number": "a finite number",
    "model_type": "a section of keys",
    "dataclass_type": "a section of keys",
    "dict_type": "a section of keys",
    "invalid_key": "keys in quotes: a bare true, no or 5 is not text",
}
_BOUNDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "too_short": "{min_length} or more of them",
    "string_too_short": "text of {min_length} or more characters",
}
_SHAPES = {
    _NAME: "a letter, then letters, digits, _ and -",
    PACKAGED: "package:path/in/package",
    WIKIPEDIA: "the code of a Wikipedia, such as hu",
    DUMP_DATE: "year, month and day as in '20260801'",
}
_NUMBER_AS_TEXT = (
    "take away the quotes; without them, YAML reads 1e-3 as text: write it with a point and a "
    "sign, 1.0e-3 or 1.0e+9, or in full"
)
_THOUSANDS = {"k": 10**3, "m": 10**6}
_QUOTED_NUMBER = "take away the quotes"
_NUMBER_FOR_TEXT = "put text that looks like a number in quotes"
_TEXT_AS_FLAG = "YAML reads no, off, yes and on as truth values: quote them, 'no'"


def first_problem(error: ValidationError, kind: type, data: Mapping[str, Any]) -> SettingError:
    """Return the first problem of `data`, from which an instance of `kind` was to be made.

    An unknown key comes first: a misspelt one may be why another is missing.
    """
    details = sorted(error.errors(), key=lambda one: one["type"] not in _UNKNOWN)
    keys = [_key(one, data) for one in details]
    same = [one for one, key in zip(details, keys, strict=True) if key == keys[0]]
    schema = TypeAdapter(kind).json_schema()
    cause = same[0].get("ctx", {}).get("error")
    if isinstance(cause, SettingError):
        return cause.under(".".join(keys[0]))
    if same[0]["type"] in _UNKNOWN:
        reason = unknown(keys[0][-1], list(node_at(schema, keys[0][:-1])["properties"]))
    else:
        reason = str(cause or _reason(same))
        described = node_at(schema, keys[0]).get("description", "").partition(". ")[0]
        if described and same[0]["type"] != "literal_error":
            reason += f" ({described.rstrip('.')})"
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
    given = reprlib.repr(first["input"])
    if first["type"] == "missing":
        return "missing; give it a value"
    if first["type"] == "literal_error":
        return f"{given} is unknown; choose {_allowed(first)}"
    allowed = ", or ".join(dict.fromkeys(map(_allowed, details)))
    return f"{given} is not allowed; give {allowed}{_yaml_hint(first)}"


def _allowed(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "literal_error":
        return context["expected"].replace("'", "")
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    if kind in _TYPES:
        return _TYPES[kind]
    return _SHAPES.get(context.get("pattern")) or detail["msg"].removeprefix("Input should be ")


def _yaml_hint(detail: ErrorDetails) -> str:
    value = detail["input"]
    if detail["type"] == "string_type" and isinstance(value, bool):
        return f"; {_TEXT_AS_FLAG}"
    if detail["type"] == "string_type" and isinstance(value, int | float):
        return f"; {_NUMBER_FOR_TEXT}"
    if detail["type"] == "int_type":
        return whole_number_hint(value)
    if detail["type"] == "float_type" and isinstance(value, str):
        with suppress(ValueError):
            hint = _NUMBER_AS_TEXT if "e" in value.lower() else _QUOTED_NUMBER
            return f"; {hint}" if math.isfinite(float(value)) else ""
    return ""


def whole_number_hint(value: Any) -> str:
    """Say how to write a whole number that came in another form, such as 16e3 or '16k'."""
    text = str(value).strip().lower().replace(",", "").replace("_", "")
    factor = _THOUSANDS.get(text[-1:], 1)
    with suppress(ValueError, OverflowError):
        number = float(text.removesuffix(text[-1:]) if factor > 1 else text) * factor
        if number.is_integer() and not isinstance(value, bool):
            quoted = isinstance(value, str) and value == str(int(number))
            return f"; {_QUOTED_NUMBER}" if quoted else f"; write it in digits alone, {number:.0f}"
    return ""


# --- JSON schemas


def resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node of a JSON schema with what it refers to; a value or null is the value."""
    node = dict(node)
    choices = [one for one in node.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        del node["anyOf"]
        return {**resolved(choices[0], schema), **node}
    if "$ref" in node:
        name = node.pop("$ref").rsplit("/", 1)[-1]
        return {**schema["$defs"][name], **node}
    return node


def stanza_of(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the node of the values under names of the user's choice; None if there are none."""
    return next(iter(node.get("patternProperties", {}).values()), None)


def node_at(schema: Mapping[str, Any], key: Sequence[str]) -> dict[str, Any]:
    """Return the node of a key, {} where there is none."""
    node: Mapping[str, Any] = schema
    for part in key:
        node = resolved(node, schema)
        node = node.get("properties", {}).get(part) or stanza_of(node) or {}
    return resolved(node, schema)
