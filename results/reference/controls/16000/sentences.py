"""The texts of this folder, a sentence a line, from clones of the repositories.

python sentences.py de CLONE_OF_bundestag_gesetze | xz > data/de.txt.xz
python sentences.py ru CLONE_OF_d0rj_RusLit | xz > data/ru.txt.xz
python sentences.py vi CLONE_OF_ThanhChinhBK_vietnews | xz > data/vi.txt.xz
python sentences.py hi CLONE_OF_gayatrivenugopal_Hindi-Aesthetics-Corpus | xz > data/hi.txt.xz
python sentences.py ar CLONE_OF_OpenITI_1400AH | awk '!seen[$0]++' | xz > data/ar.txt.xz
"""

import re
import subprocess
import sys
from collections.abc import Iterator

from reproduction.data.corpus import clean_line, is_clean_sentence, split_sentences

COMMITS = {  # and a pattern of the names of files
    "de": ("77abca2c", r".*\.md"),
    "ru": ("45096804", r".*\.txt"),
    "vi": ("a20d9b7f", r".*\.txt\.seg"),  # a sentence a line; compounds are joined by `_`
    "hi": (
        "d26bd0bd",
        r"Corpus/(?!अहिंसा---विश्वकोश).*",
    ),  # without marks
    "ar": ("905898b2", r"data/.*\.Hindawi\d+-ara\d(\.(inProgress|completed|mARkdown))?"),
}
BY_LINES = {"vi": 4, "hi": 4}  # words of a sentence, at least
ARABIC_WORDS = 4  # of a sentence, at least
HEADINGS = re.compile(r"^###? ?[|$].*$|^# \|.*$", re.MULTILINE)
PAGES = re.compile(r"\bmsL?\d+\b|\bms[A-Z]\d+\b|PageV\d+P\d+\w?|PageBeg\w+|PageEnd\w+")
NO_TEXT = ("#", "|", ":", "<", "-", "Ausfertigungsdatum", "Fundstelle")


def read(clone: str, commit: str, pattern: str) -> Iterator[str]:
    """Yield the files of a commit whose names fit a pattern, in git's order."""
    git = ["git", "-C", clone]
    listed = subprocess.check_output([*git, "ls-tree", "-rz", commit]).decode()
    files = [file.partition("\t") for file in listed.split("\0")]
    numbers = [about.split()[2] for about, _, name in files if re.fullmatch(pattern, name)]
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*git, "cat-file", "--batch"], **pipe) as blobs:
        for number in numbers:
            blobs.stdin.write(f"{number}\n".encode())
            blobs.stdin.flush()
            *_, size = blobs.stdout.readline().split()
            yield blobs.stdout.read(int(size) + 1)[:-1].decode("utf-8", "replace")


def marked_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a book in OpenITI's mARkdown, without its header and headings.

    A line begins with `# `, or with `~~` where it was wrapped.
    """
    body = HEADINGS.sub("", text.partition("#META#Header#End#")[2])
    for paragraph in re.split(r"\n\s*\n", body):
        lines = (re.sub(r"^(#+ ?|~~)", "", line.strip()) for line in paragraph.splitlines())
        yield PAGES.sub(" ", " ".join(lines))


def paragraphs(language: str, text: str) -> Iterator[str]:
    """Yield the paragraphs of statutes, without front matter and lists, or the lines of a book."""
    if language == "ru":
        yield from filter(str.strip, text.splitlines())
        return
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    for paragraph in map(str.strip, re.split(r"\n\s*\n", text)):
        if paragraph and not paragraph.startswith(NO_TEXT):
            yield paragraph.replace("*", "")


def sentences(language: str, text: str) -> Iterator[str]:
    """Yield the sentences of a file."""
    if language in BY_LINES:
        lines = (line.replace("_", " ").split() for line in text.splitlines())
        yield from (" ".join(words) for words in lines if len(words) >= BY_LINES[language])
        return
    if language == "ar":
        for paragraph in map(clean_line, marked_paragraphs(text)):
            found = map(clean_line, split_sentences(paragraph, language))
            yield from (one for one in found if is_clean_sentence(one, ARABIC_WORDS))
        return
    for paragraph in paragraphs(language, text):
        yield from split_sentences(" ".join(paragraph.split()), language)


language, clone = sys.argv[1:]
for text in read(clone, *COMMITS[language]):
    for sentence in sentences(language, text):
        print(sentence.strip())
