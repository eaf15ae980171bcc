"""The little of Markdown in the findings' summary, as HTML for the report page.

Paragraphs and lists, and inside a text emphasis, strong emphasis and code. There are no links: the
findings stand in several folders.
"""

from __future__ import annotations

import re
from itertools import groupby

from markupsafe import Markup, escape

_INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*]+)\*")


def section(markdown: str, title: str) -> str:
    """Return what stands under a heading of the second level; empty without such a heading."""
    parts = re.split(r"^## (.+)\n", markdown, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "").strip()


def html(markdown: str) -> Markup:
    """Return paragraphs and lists as HTML.

    Raises:
        ValueError: the text has another kind of part.
    """
    parts = groupby(markdown.splitlines(), lambda line: not line.strip())
    return Markup("\n").join(_html_part(list(lines)) for blank, lines in parts if not blank)


def _html_part(lines: list[str]) -> Markup:
    first = lines[0]
    if first.startswith(("#", "|", "![")):
        raise ValueError(f"no HTML is made of a heading, a table or an image: {first}")
    if first.startswith("- "):
        items = (f"<li>{_inline(line.removeprefix('- '))}</li>" for line in lines)
        return Markup("<ul>\n" + "\n".join(items) + "\n</ul>")
    return Markup("<p>" + "\n".join(map(_inline, lines)) + "</p>")


def _inline(text: str) -> Markup:
    def tagged(match: re.Match[str]) -> str:
        kind = match.lastgroup
        return f"<{kind}>{match[kind]}</{kind}>"

    return Markup(_INLINE.sub(tagged, str(escape(text))))  # noqa: S704 (escaped before)
