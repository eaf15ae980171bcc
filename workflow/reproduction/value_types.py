"""Types of values of the configuration alone; those it shares are in `sagevocab.validation`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, Strict

from sagevocab.validation import Count, Seed

InnerShare = Annotated[float, Strict(), Field(gt=0, lt=1)]
NotNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_-]*$")]


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
