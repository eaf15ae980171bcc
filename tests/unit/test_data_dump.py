from __future__ import annotations

import bz2
import importlib.util
from pathlib import Path

import pytest

from reproduction.data.dump import MISSING_WORD, Article, plain_text, read_articles
from reproduction.data.extract import ExtractionSettings, extract_lines
from reproduction.data.files import Form
from sagevocab.corpus.text import read_lines

MEDIAWIKI = Form(key="k.source", format="mediawiki")

NAMESPACES = """<siteinfo><namespaces><namespace key="0"/><namespace key="1">Talk</namespace>
<namespace key="14">Kategori</namespace></namespaces></siteinfo>"""


def page(title: str, text: str, ns: str | None = "0", extra: str = "", model: str = "") -> str:
    ns = "" if ns is None else f"<ns>{ns}</ns>"
    model = model and f"<model>{model}</model>"
    return (
        f"<page><title>{title}</title>{ns}<id>1</id>{extra}<revision><id>2</id>"
        f"<contributor><username>A</username></contributor>{model}"
        f'<text xml:space="preserve">{text}</text></revision></page>'
    )


def dump(pages: list[str], version: str = "0.11") -> bytes:
    schema = f"http://www.mediawiki.org/xml/export-{version}/"
    return f'<mediawiki xmlns="{schema}">{NAMESPACES}{"".join(pages)}</mediawiki>'.encode()


@pytest.mark.parametrize("version", ["0.3", "0.6", "0.10", "0.11"])
@pytest.mark.parametrize("compress", [bytes, bz2.compress])
def test_articles_and_nothing_else(tmp_path, version, compress) -> None:
    path = tmp_path / "dump"
    pages = [
        page("Elma", "Elma bir meyvedir."),
        page("Talk:Elma", "Hi.", ns="1"),
        page("Alma", "#REDIRECT [[Elma]]"),
        page("Olma", "#YÖNLENDİRME[[Elma]]"),
        page("Ulma", "see", extra='<redirect title="Elma"/>'),
        page("a.css", "p {}", model="css"),
        page("Star Trek: Picard", "A series.", model="wikitext"),
    ]
    path.write_bytes(compress(dump(pages, version)))
    names = frozenset(("talk", "kategori"))
    assert list(read_articles(path)) == [
        Article("Elma", "Elma bir meyvedir.", names),
        Article("Star Trek: Picard", "A series.", names),
    ]


def test_old_schemas_tell_namespaces_by_title(tmp_path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(
        dump([page("kategori:X", "no", None), page("Alien: X", "yes", None)], version="0.3")
    )
    assert [article.title for article in read_articles(path)] == ["Alien: X"]


def test_of_a_full_history_the_last_revision_counts(tmp_path) -> None:
    text = page("A", "old").replace("</page>", "<revision><text>new</text></revision></page>")
    path = tmp_path / "dump"
    path.write_bytes(dump([text]))
    assert [article.text for article in read_articles(path)] == ["new"]


def test_memory_does_not_grow_with_the_dump(tmp_path) -> None:
    import tracemalloc

    path = tmp_path / "dump.bz2"
    path.write_bytes(bz2.compress(dump([page(f"P{i}", "word " * 400) for i in range(1500)])))
    tracemalloc.start()
    count = sum(1 for _ in read_articles(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1500
    assert peak < 1.5e6  # the dump has 3 MB


def test_the_real_sample_that_gensim_ships() -> None:
    folder = importlib.util.find_spec("gensim").submodule_search_locations[0]
    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    articles = list(read_articles(Path(folder) / "test/test_data" / name))
    assert len(articles) == 106
    assert [article.title for article in articles[:2]] == ["Anarchism", "Autism"]
    text = plain_text(articles[0].text)
    assert text.startswith("Anarchism is a political philosophy that advocates self-governed")
    assert not any(mark in text for mark in ("[[", "]]", "{{", "\x00", "\x01"))


# --- wikitext


@pytest.mark.parametrize(
    ("wikitext", "prose"),
    [
        (
            "'''Elma''' bir ''meyve'' [[ağaç|ağacıdır]] ve [[tatlı]]dır.",
            "Elma bir meyve ağacıdır ve tatlıdır.",
        ),
        ("A {{cite|x}}[[File:A.jpg|thumb|A [[cap]] here.]]B<!-- c -->.", "A B."),
        ("[[Dosya:A.jpg|küçük]][[Kategori:Meyve]][[fr:Pomme]]Metin.", "Metin."),
        ("A note.<ref name=a>See {{x}} [[y]].</ref><ref name=b/> Next.", "A note. Next."),
        ("{| class=x\n|-\n| a || b\n|}\nText.", "Text."),
        ("{{Infobox\n| a = {{b|c}}\n}}\nText.", "Text."),
        ("== Head ==\nText.\n=== Sub ===\nMore.", "Text.\nMore."),
        ("* item\n# item\n: indented\n; term\nText.", "Text."),
        ("Text<br/>continues.<gallery>A.jpg|cap</gallery>", "Text continues."),
        ("See [http://a.b the site] and [http://c.d].", "See the site and."),
        ("5&nbsp;km &amp; more &lt;", "5\xa0km & more <"),
        ("__NOTOC__Text.", "Text."),
        (
            "One line\nof a hard-wrapped paragraph.\n\nAnother.",
            "One line of a hard-wrapped paragraph.\nAnother.",
        ),
        ("<nowiki>[[x]]</nowiki> is raw.", "[[x]] is raw."),
        ("<gallery>\nA.jpg|[[x]]\n</gallery>", ""),
    ],
)
def test_markup_goes_and_prose_stays(wikitext, prose) -> None:
    assert plain_text(wikitext) == prose


@pytest.mark.parametrize(
    ("wikitext", "prose"),
    [
        ("Albania ({{IPA|x}}; {{lang-sq|y}}) is here.", "Albania is here."),
        ("Albania ({{IPA|x}}; born 1980) is here.", "Albania (born 1980) is here."),
        ("A road of {{convert|5|to|10|km|mi}}.", "A road of 5 to 10 km."),
        ("The {{lang|fr|mot juste}} counts.", "The mot juste counts."),
        ("It is {{val|5}} long.", f"It is {MISSING_WORD} long."),
        ("{{As of|2010}}, it is long.", f"{MISSING_WORD}, it is long."),
        ("The value <math>x^2</math> grows.", f"The value {MISSING_WORD} grows."),
        ("It ended.{{sfn|A}} {{citation needed}} Next.", "It ended. Next."),
        ("The end{{cn}}.", "The end."),
        (
            "{{Box|a={{convert|5|km}}|b={{lang|fr|mot {{x}}}}}}A {{lang|fr|mot {{x}}juste}}.",
            "A mot juste.",
        ),
        (
            "Ten <!-- {{ [[ --> words.<ref name='a/b'>{{cite|{{x}}}} {{</ref> More<ref name=c />.",
            "Ten words. More.",
        ),
        ("首都は{{仮リンク|東京|en|Tokyo}}である。{{Sfn|A}}", "首都は東京である。"),
        ("首都は{{x}}である。", f"首都は{MISSING_WORD}である。"),
        ("It is {{val|{{x|5}}}} long.", f"It is {MISSING_WORD} long."),
        ("Text.<!-- never ended {{", "Text."),
        ("The {{{1|word}}} of {{x|{{{2}}}}}.", f"The of {MISSING_WORD}."),
    ],
)
def test_templates_leave_a_mark_only_where_a_word_is_missing(wikitext, prose) -> None:
    assert plain_text(wikitext) == prose


@pytest.mark.parametrize(
    ("link", "names"),
    [
        ("[[चित्र:a.jpg|thumb|मूल [[शीर्षक]] है।]]", []),  # vowel signs
        ("[[ไฟล์:a.jpg|thumb|คำ]]", []),
        ("[[טעקע:a.jpg|קליין]]", []),
        ("[[Ẹ̀ka:A|B]]", []),
        ("[[संचिका:a.jpg|thumb|मूल]]", ["संचिका", "विशेष"]),
        ("[[ پرونده:a.jpg|thumb|x]]", ["پرونده"]),
        ("[[Fáìlì's:a.jpg|x]]", ["fáìlì's"]),  # nothing but the dump knows this one
        ("[[:fáìlì's_talk :a.jpg|x]]", ["fáìlì's talk"]),
        ("[[File: a.jpg|thumb|A road]]", ["file"]),
    ],
)
def test_links_into_namespaces_go_whatever_the_script(link, names) -> None:
    assert plain_text(f"A {link}text.", frozenset(names)) == "A text."


def test_the_names_of_namespaces_are_those_of_the_dump(tmp_path) -> None:
    named = NAMESPACES.replace("Kategori", "Ka'tegori")
    text = dump([page("A", "[[Ka'tegori:x|y]]Text.")]).decode().replace(NAMESPACES, named)
    (tmp_path / "dump").write_text(text)
    output = tmp_path / "lines.zst"
    extract_lines([tmp_path / "dump"], output, MEDIAWIKI, ExtractionSettings(min_words=1))
    assert list(read_lines(output)) == ["Text."]


def test_unbalanced_markup_is_no_crash() -> None:
    for broken in (
        "{{a|b",
        "[[a|b",
        "'''a''",
        "{|\n| a",
        "<ref>a",
        "]] }} |}",
        "{{" * 500,
        "-{a",
        "}-",
    ):
        plain_text(broken + " text.")
