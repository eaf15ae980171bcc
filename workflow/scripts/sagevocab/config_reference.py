"""The reference of the configuration, written from its JSON schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from sagevocab.state import write_text

HEADER = """\
# Configuration

Written from `workflow/schemas/config.schema.yaml` by `make docs`; edit the schema, not this page.

{description}

    snakemake --configfile config/demo.yaml --cores 2 all

Defaults are the schema's, for keys that no file sets. Keys of a stanza stand under `NAME`.

| key | type | default | what |
|---|---|---|---|
"""


def config_reference(schema_path: Path) -> str:
    """Render the schema as one Markdown table, a row for each key in the schema's order."""
    schema = yaml.safe_load(schema_path.read_text(encoding="utf-8"))
    rows = [
        f"| `{key}` | {_type(node)} | {_default(node)} | {_cell(node.get('description', ''))} |"
        for key, node in _keys(schema, schema)
    ]
    return HEADER.format(description=schema["description"]) + "\n".join(rows) + "\n"


def _keys(node: dict[str, Any], schema: dict[str, Any], prefix: str = "") -> Iterator[Row]:
    for name, child in node.get("properties", {}).items():
        yield from _key(f"{prefix}{name}", child, schema)
    stanza = node.get("additionalProperties")
    if isinstance(stanza, dict):
        yield from _keys(_resolve(stanza, schema), schema, f"{prefix}NAME.")


def _key(key: str, node: dict[str, Any], schema: dict[str, Any]) -> Iterator[Row]:
    node = _resolve(node, schema)
    yield key, node
    yield from _keys(node, schema, f"{key}.")


def _resolve(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Follow a `$ref`; what stands beside it wins."""
    if "$ref" not in node:
        return node
    name = node["$ref"].rsplit("/", 1)[-1]
    return {**schema["$defs"][name], **node}


def _type(node: dict[str, Any]) -> str:
    if "enum" in node:
        return " / ".join(f"`{value}`" for value in node["enum"])
    if "oneOf" in node:
        return " / ".join(_type(choice) for choice in node["oneOf"])
    if "const" in node:
        return f"`{node['const']}`"
    types = node.get("type", "any")
    words = " or ".join(types) if isinstance(types, list) else types
    return f"{words}{_bounds(node)}"


def _bounds(node: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {node[key]}" for key, sign in signs.items() if key in node]
    return f", {', '.join(bounds)}" if bounds else ""


def _default(node: dict[str, Any]) -> str:
    if "default" not in node or node["default"] == {}:
        return ""
    return f"`{json.dumps(node['default'])}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    write_text(sys.argv[2], config_reference(Path(sys.argv[1])))
