"""The texts of this folder, a sentence a line, from clones of the two repositories.

python sentences.py de CLONE_OF_bundestag_gesetze | xz > data/de.txt.xz
python sentences.py ru CLONE_OF_d0rj_RusLit | xz > data/ru.txt.xz
"""

import re
import subprocess
import sys
from collections.abc import Iterator

from reproduction.data.corpus import split_sentences

COMMITS = {"de": ("77abca2c", ".md"), "ru": ("45096804", ".txt")}
NO_TEXT = ("#", "|", ":", "<", "-", "Ausfertigungsdatum", "Fundstelle")


def read(clone: str, commit: str, end: str) -> Iterator[str]:
    """Yield the files of a commit whose names end so, in git's order."""
    git = ["git", "-C", clone]
    listed = subprocess.check_output([*git, "ls-tree", "-rz", "--name-only", commit])
    for name in listed.decode().split("\0"):
        if name.endswith(end):
            shown = subprocess.check_output([*git, "show", f"{commit}:{name}"])
            yield shown.decode("utf-8", "replace")


def paragraphs(language: str, text: str) -> Iterator[str]:
    """Yield the paragraphs of statutes, without front matter and lists, or the lines of a book."""
    if language == "ru":
        yield from filter(str.strip, text.splitlines())
        return
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    for paragraph in map(str.strip, re.split(r"\n\s*\n", text)):
        if paragraph and not paragraph.startswith(NO_TEXT):
            yield paragraph.replace("*", "")


language, clone = sys.argv[1:]
for text in read(clone, *COMMITS[language]):
    for paragraph in paragraphs(language, text):
        for sentence in split_sentences(" ".join(paragraph.split()), language):
            print(sentence.strip())
