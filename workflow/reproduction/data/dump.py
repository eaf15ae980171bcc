"""MediaWiki dumps: XML as a stream of articles, wikitext to prose.

Reads export schemas 0.3 to 0.11, plain or compressed, single- or multistream. Templates are not
expanded, because their text is not in the dump: a sentence may lack what a template would show (a
converted length, a transcription).
"""

from __future__ import annotations

import functools
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import mwparserfromhell
from mwparserfromhell import nodes

from reproduction.data.corpus import UNSPACED, word_set
from sagevocab.corpus.text import open_bytes
from sagevocab.errors import UserError

# --- XML


class Article(NamedTuple):
    """A page of the main namespace that is not a redirect, in wikitext.

    namespaces: names of its wiki's other namespaces, as the dump has them, with case folded.
    """

    title: str
    text: str
    namespaces: frozenset[str] = frozenset()


# "#REDIRECT [[Target]]" in any language: "#YÖNLENDİRME [[Hedef]]".
_REDIRECT = re.compile(r"\s*#\s*[^\W\d_]+\s*:?\s*\[\[")


def read_articles(path: str | Path) -> Iterator[Article]:
    """Yield the articles of a dump in its order; memory holds one page at a time.

    Raises:
        UserError: not a MediaWiki dump, truncated or damaged, or without a single article.
    """
    pages = articles = 0
    with open_bytes(path) as stream:
        for article in articles_in(stream, path):
            pages += 1
            if article is not None:
                articles += 1
                yield article
    if not articles:
        raise UserError(
            f"{path}: a dump without articles ({pages} pages, all redirects or outside the main "
            "namespace); a pages-articles dump is needed"
        )


def articles_in(stream: BinaryIO, name: str | Path) -> Iterator[Article | None]:
    """Yield the article of every page of an open dump, or None if it has none.

    Raises:
        UserError: not a MediaWiki dump, or damaged; it begins with `name`.
    """
    pages = 0
    try:
        for article in _pages(name, stream):
            pages += 1
            yield article
    except ET.ParseError as error:
        raise UserError(f"{name}: {_xml_problem(pages, error)}") from error


def wrong_wiki(stream: BinaryIO, wanted: str | None) -> str:
    """Return what to say of an open dump of another wiki than `wanted`; empty if it is of this one.

    Old exports do not name their wiki. What is no dump is for others to find.
    """
    found = _wiki_in(stream) if wanted else None
    return f"gives a dump of {found} instead of {wanted}" if found not in (None, wanted) else ""


def _wiki_in(stream: BinaryIO) -> str | None:
    """Return the wiki's name at the beginning of a dump, such as `trwiki`."""
    with suppress(ET.ParseError, UserError):
        for event, element in ET.iterparse(stream, events=("start", "end")):
            name = _local(element)
            if name == "page" or (event == "end" and name == "siteinfo"):
                break
            if event == "end" and name == "dbname":
                return (element.text or "").strip() or None
    return None


def _xml_problem(pages: int, error: ET.ParseError) -> str:
    if pages:
        return f"the XML breaks off after {pages} pages ({error}); fetch or copy it again"
    return (
        f"is not a MediaWiki XML dump, or is damaged before its first page ends ({error}); check "
        "`format` and the file"
    )


def _pages(path: str | Path, stream: BinaryIO) -> Iterator[Article | None]:
    """Yield the article of every page, or None if it has none."""
    namespaces: frozenset[str] = frozenset()
    root = None
    for event, element in ET.iterparse(stream, events=("start", "end")):
        if root is None:
            root = element
            _check_root(path, root)
        if event == "start":
            continue
        name = _local(element)
        if name == "namespace" and element.get("key") != "0":
            namespaces |= {(element.text or "").casefold()} - {""}
        elif name == "page":
            yield _article(element, namespaces)
            root.clear()


def _check_root(path: str | Path, root: ET.Element) -> None:
    if _local(root) != "mediawiki":
        raise UserError(
            f"{path}: is not a MediaWiki XML dump (its root is <{_local(root)}>, not <mediawiki>); "
            "check `format` and the file"
        )


def _local(element: ET.Element) -> str:
    """Name of an element without its schema version."""
    return element.tag.rpartition("}")[2]


def _article(page: ET.Element, namespaces: frozenset[str]) -> Article | None:
    title = page.findtext("{*}title", "")
    text = page.findtext("{*}revision[last()]/{*}text", "")
    if page.find("{*}redirect") is not None or _REDIRECT.match(text):
        return None
    if page.findtext("{*}revision[last()]/{*}model", "") not in ("", "wikitext"):
        return None
    if not _in_main_namespace(page.findtext("{*}ns", ""), title, namespaces):
        return None
    return Article(title, text, namespaces)


def _in_main_namespace(number: str, title: str, namespaces: frozenset[str]) -> bool:
    """By <ns>; schemas before 0.6 have none (config/reference.yaml reads one): by the title."""
    if number:
        return number.strip() == "0"
    prefix, colon, _ = title.partition(":")
    return not (colon and prefix.casefold() in namespaces)


# --- wikitext


# A line that holds this mark is dropped: a list item, an indented line.
_NOT_PROSE = "\x00"
# Where a template was.
_HOLE = "\x01"
# What a hole becomes if readers see a word there: its sentence is not whole.
MISSING_WORD = "\ufffc"
_KEPT_TAGS = word_set(
    """
    b i u s em strong small big sub sup span div p center font tt code cite q abbr bdi
    nowiki blockquote dfn var section onlyinclude noinclude ins samp kbd
    """
)
_FORMULA_TAGS = word_set("math chem ce hiero score timeline syntaxhighlight source")
_LINE_TAGS = word_set("li dd dt hr")
_BREAKS = word_set("br p div center blockquote")
# What `\w` lacks of words in many scripts: vowel signs and the like.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x3100)) if unicodedata.category(c)[0] == "M")
_NAMESPACE_LINK = re.compile(rf"\s*:?[^\W\d_][\w \-{_MARKS}]{{1,40}}:\S")
_HAS_WORD = re.compile(r"\w")


def plain_text(wikitext: str, namespaces: frozenset[str] = frozenset()) -> str:
    """Prose of an article: one paragraph a line, without markup.

    Left out: templates, tables, references, formulas, galleries, comments, headings, list and
    indented lines, files and categories and other links into a namespace (by any language's name).
    A template or formula that readers see as a word of a sentence leaves `MISSING_WORD`. A word in
    several variants of a language (Chinese, Serbian) keeps its braces, `-{zh-hans:..}-`.
    namespaces: as of `Article`.

    Raises:
        mwparserfromhell.parser.ParserError, RecursionError: the page can't be parsed.
    """
    if namespaces:
        wikitext = _namespace_prefix(namespaces).sub("[[File:", wikitext)
    code = mwparserfromhell.parse(_without_unseen(wikitext), skip_style_tags=False)
    text = "".join(_rendered(code.nodes))
    return "\n".join(_paragraphs(text))


@functools.lru_cache
def _namespace_prefix(namespaces: frozenset[str]) -> re.Pattern[str]:
    """Match how a link into a namespace begins, whatever its name is made of."""
    names = "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in sorted(namespaces))
    return re.compile(rf"\[\[[ _]*:?[ _]*(?:{names})[ _]*:[ _]*", re.IGNORECASE)


# What readers don't see: magic words, comments, references.
_UNSEEN = re.compile(
    r"__[A-ZÇĞİÖŞÜ]{3,}__|<!--.*?(?:-->|\Z)|<ref\b[^<>]*/>|<ref\b[^<>]*(?<!/)>.*?</ref\s*>",
    re.DOTALL | re.IGNORECASE,
)
_INNERMOST_TEMPLATE = re.compile(r"(?<!\{)\{\{([^{}|]*)([^{}]*)\}\}(?!\})")
_KEPT_BRACES = {"\x02": "{{", "\x03": "}}"}


def _without_unseen(wikitext: str) -> str:
    """Cut what the parser would read for nothing, which is most of an article.

    Templates whose text is in the dump stay; of the others a hole does, from the inside out.
    """
    text, count = _UNSEEN.sub("", wikitext), 1
    while count:
        text, count = _INNERMOST_TEMPLATE.subn(_cut_template, text)
    return re.sub("[\x02\x03]", lambda brace: _KEPT_BRACES[brace[0]], text)


def _cut_template(template: re.Match) -> str:
    name = template[1].strip().lower()
    is_shown = name in _SHOWN_PARAMETER or name in _CONVERSIONS
    return f"\x02{template[1]}{template[2]}\x03" if is_shown else _HOLE


def _rendered(parts: Iterable[nodes.Node]) -> Iterator[str]:
    """Visible text of nodes, in one walk (the library's own removal is quadratic)."""
    for node in parts:
        render = _RENDERERS.get(type(node))
        if render is not None:
            yield from render(node)


def _link_text(link: nodes.Wikilink) -> Iterator[str]:
    """A link's label; nothing for files, categories, other languages and their like.

    A title with a colon and no space after it is taken for one of those, unless it is labelled
    and its label stands for it: "[[Star Trek: Picard]]" is an article, "[[Dosya:a.jpg]]" is not.
    """
    title = str(link.title)
    if _NAMESPACE_LINK.match(title):
        return
    yield from _rendered((link.text if link.text is not None else link.title).nodes)


def _tag_text(tag: nodes.Tag) -> Iterator[str]:
    name = str(tag.tag).strip().lower()
    if name in _LINE_TAGS:
        yield _NOT_PROSE
    if name in _BREAKS:
        yield " " if name == "br" else "\n\n"
    if name in _FORMULA_TAGS:
        yield MISSING_WORD
    if name in _KEPT_TAGS and tag.contents is not None:
        yield from _rendered(tag.contents.nodes)


# Templates whose text is in the dump: name -> the parameter that readers see.
_SHOWN_PARAMETER = {
    "lang": 2,
    "nowrap": 1,
    "nobr": 1,
    "transl": -1,
    "dil": 2,
    "small": 1,
    "仮リンク": 1,
}
_CONVERSIONS = frozenset(("convert", "cvt"))
_QUANTITY = re.compile(r"[\d.,/+-]+|to|and|or|by|x|×|-|–|to about")


def _template_text(template: nodes.Template) -> Iterator[str]:
    name = str(template.name).strip().lower()
    values = [part.value for part in template.params if not part.showkey]
    parameter = _SHOWN_PARAMETER.get(name)
    if parameter is not None and len(values) >= abs(parameter):
        yield from _rendered(values[parameter - 1 if parameter > 0 else parameter].nodes)
    elif name in _CONVERSIONS:
        yield _measure([str(value).strip() for value in values])
    else:
        yield _HOLE


def _measure(values: list[str]) -> str:
    """The measure as its author gave it: "5 to 10 km" for {{convert|5|to|10|km|mi}}."""
    count = next((i for i, value in enumerate(values) if not _QUANTITY.fullmatch(value)), None)
    return " ".join(values[: count + 1]) if count else _HOLE


# Nodes of other types (comments, template arguments) show nothing.
_RENDERERS = {
    nodes.Text: lambda node: (node.value,),
    nodes.HTMLEntity: lambda node: (node.normalize(),),
    nodes.Heading: lambda node: ("\n\n",),
    nodes.Wikilink: _link_text,
    # Of a link to another site the label; nothing for a bare address.
    nodes.ExternalLink: lambda node: _rendered(node.title.nodes if node.title is not None else ()),
    nodes.Tag: _tag_text,
    nodes.Template: _template_text,
}

_EMPTY_BRACKETS = re.compile(r"[(\[]\s*[,;:/–—-]*\s*[)\]]")
_AFTER_BRACKET = re.compile(r"([(\[])[\s,;:]+")
_BEFORE_BRACKET = re.compile(r"[\s,;:]+([)\]])")
_BEFORE_STOP = re.compile(r"\s+([,.;:!?](?:\s|$))")
_SPACES = re.compile(r" {2,}")
_REPEATED_COMMA = re.compile(r"([,;])(?:\s*[,;])+(?=\s)")
# A hole inside a sentence, or one that opens it. Holes after a full stop are mostly notes; those
# after a bracket or comma mostly transcriptions and translations that a sentence can do without.
# In a script without spaces, one between letters or commas.
_SEEN_HOLE = re.compile(
    rf"(?<=[^\s.!?…(,;{_HOLE}] ){_HOLE}+(?=[\s,.;:)]|$)|(?<!\S){_HOLE}+(?=,|\s[^\W\d_A-ZÇĞİÖŞÜÀ-Þ])"
    rf"|(?<=[{UNSPACED}、]){_HOLE}+(?=[{UNSPACED}、])"
)


def _paragraphs(text: str) -> Iterator[str]:
    """Join the lines of each paragraph, as the wiki does; lists, blanks and removals part them."""
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        line = _mended(line)
        if _NOT_PROSE not in line and _HAS_WORD.search(line):
            lines.append(line)
        elif lines:
            yield " ".join(lines)
            lines = []


def _mended(line: str) -> str:
    """A line without the traces of what was taken out of it: "( ; born 1980)", "word ."."""
    line = _SEEN_HOLE.sub(MISSING_WORD, line).replace(_HOLE, "")
    previous = None
    while line != previous:
        previous = line
        line = _EMPTY_BRACKETS.sub("", line)
        line = _BEFORE_BRACKET.sub(r"\1", _AFTER_BRACKET.sub(r"\1", line))
        line = _REPEATED_COMMA.sub(r"\1", line)
    return _SPACES.sub(" ", _BEFORE_STOP.sub(r"\1", line)).strip(" ")
