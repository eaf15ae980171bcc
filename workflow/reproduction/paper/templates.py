"""Templates of pages (`workflow/report`) and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import jinja2


def page_environment(
    template: Path | str, filters: Mapping[str, Callable[..., object]]
) -> jinja2.Environment:
    """Return the environment of the templates beside one; values in HTML are escaped.

    A name that a template misses is an error.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(template).parent),
        autoescape=jinja2.select_autoescape(("html", "html.jinja")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment
