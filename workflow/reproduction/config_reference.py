"""The reference of the configuration: its JSON schema for editors, and its page for readers.

python -m reproduction.config_reference SCHEMA PAGE
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from reproduction.config import Configuration
from sagevocab.fields import resolved, stanza_of
from sagevocab.state import write_text

HEADER = """\
# Configuration

Written by `make docs` from the classes in `workflow/reproduction/config.py`; edit those.

{description}

    snakemake --configfile config/demo.yaml --cores 2 all

Defaults are for keys that no file sets. Keys of a stanza stand under `NAME`.

| key | type | default | what |
|---|---|---|---|
"""
_SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def config_schema() -> str:
    """Return the JSON schema of the configuration, on one line: it is for programs."""
    return json.dumps(Configuration.model_json_schema(), ensure_ascii=False) + "\n"


def config_page() -> str:
    """Return one Markdown table, a row for each key."""
    schema = Configuration.model_json_schema()
    rows = []
    for key, node in _keys(schema, schema, {}):
        default = node.get("default")
        shown = "" if default is None else f"`{json.dumps(default)}`"
        text = " ".join(node["description"].split()).replace("|", "\\|")
        rows.append(f"| `{key}` | {_type(node)} | {shown} | {text} |\n")
    return HEADER.format(description=schema["description"]) + "".join(rows)


def _keys(
    node: dict[str, Any], schema: dict[str, Any], seen: dict[str, str], prefix: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key below a node, with its own node; of equal sections the keys of the first."""
    if stanza := stanza_of(node):
        yield from _keys(resolved(stanza, schema), schema, seen, f"{prefix}NAME.")
    for name, child in node.get("properties", {}).items():
        key, whole = f"{prefix}{name}", resolved(child, schema)
        whole["or_null"] = {"type": "null"} in child.get("anyOf", ())
        first = seen.setdefault(whole["title"], key) if "properties" in whole else key
        if first != key:
            yield key, {**whole, "description": f"As `{first}`."}
            continue
        yield key, whole
        yield from _keys(whole, schema, seen, f"{key}.")


def _type(node: dict[str, Any]) -> str:
    if choices := node.get("enum") or ([node["const"]] if "const" in node else []):
        text = " / ".join(f"`{value}`" for value in choices)
    elif "anyOf" in node:
        text = " / ".join(_type(one) for one in node["anyOf"] if one != {"type": "null"})
    else:
        bounds = [f", {sign} {node[key]}" for key, sign in _SIGNS.items() if key in node]
        text = node["type"] + "".join(bounds)
    return f"{text} or null" if node.get("or_null") else text


if __name__ == "__main__":
    for path, text in zip(sys.argv[1:], (config_schema(), config_page()), strict=True):
        write_text(path, text)
