"""Arabic books, a sentence a line, from a clone of the repository.

python sentences_ar.py ar CLONE_OF_OpenITI_1400AH | xz > data/ar.txt.xz
"""

import re
import subprocess
import sys
from collections.abc import Iterator

from reproduction.data.corpus import clean_line, is_clean_sentence, split_sentences

COMMITS = {  # and a pattern of the names of files
    "ar": ("905898b2", r"data/.*\.Hindawi\d+-ara\d(\.(inProgress|completed|mARkdown))?"),
}
WORDS = 4  # of a sentence, at least
HEADER_END = "#META#Header#End#"
MARKERS = re.compile(r"\bmsL?\d+\b|\bms[A-Z]\d+\b|PageV\d+P\d+\w?|PageBeg\w+|PageEnd\w+")


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
            *rest, size = blobs.stdout.readline().split()
            if size == b"missing":  # a snapshot without its largest files
                print("missing:", number, file=sys.stderr)
                continue
            yield blobs.stdout.read(int(size) + 1)[:-1].decode("utf-8", "replace")


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a book in OpenITI's mARkdown, without its header and headings.

    A line begins with `# `, or with `~~` where it was wrapped; empty lines are between paragraphs.
    """
    body = text.partition(HEADER_END)[2]
    body = re.sub(r"^###? ?[|$].*$|^# \|.*$", "", body, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", body):
        lines = (re.sub(r"^(#+ ?|~~)", "", line.strip()) for line in paragraph.splitlines())
        yield clean_line(MARKERS.sub(" ", " ".join(lines)))


def main(language: str, clone: str) -> None:
    """Print the sentences of all files, each once."""
    seen = set()
    for text in read(clone, *COMMITS[language]):
        for paragraph in paragraphs(text):
            for sentence in map(clean_line, split_sentences(paragraph, language)):
                if is_clean_sentence(sentence, WORDS) and sentence not in seen:
                    seen.add(sentence)
                    print(sentence)


if __name__ == "__main__":
    main(*sys.argv[1:])
