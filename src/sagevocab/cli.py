"""The command `sagevocab`: train, encode, compare, export.

Exit codes: 0; 1 after a user's mistake, with one line of text; 2 for wrong usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO, get_args, get_origin

from pydantic.fields import FieldInfo

from sagevocab import __version__
from sagevocab.errors import EncodingError, UserError
from sagevocab.presets import DEFAULT_PRESET, PRESETS, preset_name
from sagevocab.settings import (
    DEFAULT_SEED,
    SageSettings,
    VocabularyKeys,
    Word2VecKeys,
    WordSettings,
)

FORMATS = ("table", "csv", "json", "markdown")
EXPORTS = ("huggingface", "pieces", "vocab")
_TRAIN_ARGUMENTS = (
    *("vocab_size", "initial_size", "initial", "preset", "seed", "threads", "encoding_errors"),
    *("language", "name", "output", "force", "state_dir"),
)
_WRONG_PATH = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_INTERRUPTED, _BROKEN_PIPE = 130, 141
_RESUMED = "goes on after"  # in the log lines of a training that was stopped before
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; wrong usage exits with 2."""
    argv = sys.argv[1:] if argv is None else list(argv)
    _reserve_standard_streams()
    try:
        arguments = _parser().parse_args(argv)
        _log_to_standard_error(arguments)
        arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except UserError as error:
        unreadable = isinstance(error, EncodingError)
        advice = ", or give --encoding-errors replace" if unreadable else ""
        return _fail(f"{in_options(str(error))}{advice}")
    except MemoryError:
        return _fail("out of memory; give less text or fewer pieces")
    except BrokenPipeError:
        # Python flushes standard output once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        advice = "; check the path" if isinstance(error, _WRONG_PATH) else ""
        advice = "; make room there" if error.errno in _FULL else advice
        place = error.filename or "standard output or a file"
        return _fail(f"{place}: {error.strerror or error}{advice}")
    except KeyboardInterrupt:
        again = "; run the same command again to go on" if argv[:1] == ["train"] else ""
        print(f"\nsagevocab: interrupted{again}", file=sys.stderr)
        return _INTERRUPTED


def _reserve_standard_streams() -> None:
    """Keep the numbers of closed streams from files opened later, which would get their text."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    if sys.stderr is None:  # print() would write to standard output
        sys.stderr = os.fdopen(2, "w")


def _fail(message: str) -> int:
    print(f"sagevocab: error: {message}", file=sys.stderr)
    return 1


def _log_to_standard_error(arguments: argparse.Namespace) -> None:
    level = logging.INFO if getattr(arguments, "verbose", False) else logging.WARNING
    level = logging.ERROR if getattr(arguments, "quiet", False) else level
    handler = _AboveTheBar(sys.stderr)
    handler.addFilter(
        lambda record: (
            record.levelno >= level or (level < logging.ERROR and _RESUMED in str(record.msg))
        )
    )
    form = "sagevocab: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, handlers=[handler], force=True)
    logging.getLogger("gensim").setLevel(logging.WARNING)


class _AboveTheBar(logging.StreamHandler):
    """Writes log lines where they do not run into a bar of progress."""

    def emit(self, record: logging.LogRecord) -> None:
        from tqdm import tqdm

        with tqdm.external_write_mode(self.stream):
            super().emit(record)


# --- usage

_DEFAULT = "(default: %(default)s)"
_TOKENIZER = "folder, .model or list of pieces"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sagevocab",
        description="Build SaGe subword vocabularies from your own text, use and compare them.",
    )
    parser.add_argument("--version", action="version", version=f"sagevocab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for run, name, summary, add_arguments in (
        (run_train, "train", "build a vocabulary from text", _add_train),
        (run_encode, "encode", "turn lines into pieces or ids", _add_encode),
        (run_compare, "compare", "measure tokenizers on a text", _add_compare),
        (run_export, "export", "write a vocabulary in another form", _add_export),
    ):
        command = commands.add_parser(name, help=summary, description=run.__doc__)
        add_arguments(command)
        command.set_defaults(run=run)
    return parser


def _add_train(parser: argparse.ArgumentParser) -> None:
    add, sizes = parser.add_argument, {"type": int, "metavar": "N"}
    _add_files(parser)
    add("-o", "--output", required=True, metavar="DIR", help="new folder of the tokenizer")
    add("--vocab-size", default=VocabularyKeys.final_size, help=_DEFAULT, **sizes)
    larger = "pieces to prune from (default: a quarter more than --vocab-size, as in the paper)"
    add("--initial-size", help=larger, **sizes)
    initial = "what to prune: trained on the text, or a list of pieces, a sentencepiece .model, a "
    initial += f"folder with pieces.txt {_DEFAULT}"
    add("--initial", default="bpe", metavar="bpe|unigram|PATH", help=initial)
    preset = f"the paper as printed, or the program published for it {_DEFAULT}"
    add("--preset", type=preset_name, default=DEFAULT_PRESET, choices=PRESETS, help=preset)
    add("--seed", default=DEFAULT_SEED, help=_DEFAULT, **sizes)
    add("--threads", help="change nothing but the time (default: all)", **sizes)
    add("--language", default="und", metavar="CODE", help="for the model card")
    add("--name", default="Unnamed language", help="of the language, for the model card")
    add("--state-dir", metavar="DIR", help="keeps progress (default: hidden, beside the output)")
    add("--force", action="store_true", help="replace a tokenizer in the output folder")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print the log, no bar")
    add_settings(parser)


def _add_encode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokenizer", metavar="TOKENIZER", help=_TOKENIZER)
    _add_files(parser)
    parser.add_argument("--output", choices=("pieces", "ids"), default="pieces", help=_DEFAULT)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("tokenizers", nargs="+", metavar="TOKENIZER", help=_TOKENIZER)
    add("--text", nargs="+", required=True, metavar="FILE", help="lines of text; - for stdin")
    add("--format", choices=FORMATS, default=FORMATS[0], help=_DEFAULT)
    _add_words(parser)
    _add_encoding_errors(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("vocabulary", metavar="VOCABULARY", help="list of pieces, .model or folder")
    place = "new folder; for pieces and vocab a new file"
    add("-o", "--output", required=True, metavar="PATH", help=place)
    add("--format", choices=EXPORTS, default=EXPORTS[0], help=_DEFAULT)
    add("--force", action="store_true", help="replace what is there")
    _add_words(parser)


def _add_files(parser: argparse.ArgumentParser) -> None:
    text = "text; - or none: standard input"
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help=text)
    _add_encoding_errors(parser)


def _add_words(parser: argparse.ArgumentParser) -> None:
    add, words = parser.add_argument, WordSettings()
    add("--normalization", default=words.normalization, metavar="NAME", help=_DEFAULT)
    add("--max-word-chars", type=int, default=words.max_word_chars, metavar="N", help=_DEFAULT)


def _add_encoding_errors(parser: argparse.ArgumentParser) -> None:
    text = f"what is not UTF-8 is refused, or read as U+FFFD {_DEFAULT}"
    choices = ("strict", "replace")
    parser.add_argument("--encoding-errors", choices=choices, default="strict", help=text)


# --- commands; their first lines are the usage's
# Files are looked for before the libraries are loaded that read them, which takes seconds.


def run_train(arguments: argparse.Namespace) -> None:
    """Build a SaGe vocabulary from lines of text, plain or compressed (gz, bz2, xz, zst).

    A training that was stopped goes on when the same command is run again.
    """
    given = {name: getattr(arguments, name) for name in _TRAIN_ARGUMENTS}
    files = _files(arguments.files)
    from sagevocab.progress import shown_progress
    from sagevocab.training import train

    with shown_progress(quiet=arguments.quiet or arguments.verbose) as progress:
        built = train(files, progress=progress, **given, **given_settings(arguments))
    if not arguments.quiet:
        sizes = f"{len(built.pieces)} pieces, {len(built.ablations['piece'])} pruned"
        print(f"sagevocab: {arguments.output}: {sizes}", file=sys.stderr)


def run_encode(arguments: argparse.Namespace) -> None:
    """Print for each line of text one line of pieces or ids, with spaces between.

    They are those of AutoTokenizer, without special tokens added. An empty text gives no line.
    """
    out, files = _standard_output(), _files(arguments.files)
    os.stat(arguments.tokenizer)
    from sagevocab.foreign import load
    from sagevocab.text import lines_of

    encoder = load(arguments.tokenizer)
    if hasattr(out, "reconfigure"):
        out.reconfigure(encoding="utf-8", newline="\n")
    for ids in encoder.encode_lines(lines_of(files, arguments.encoding_errors)):
        shown = encoder.names(ids) if arguments.output == "pieces" else map(str, ids)
        out.write(" ".join(shown) + "\n")


def run_compare(arguments: argparse.Namespace) -> None:
    """Print the intrinsic measures of tokenizers on the same text."""
    out, files = _standard_output(), _files(arguments.text)
    for path in arguments.tokenizers:
        os.stat(path)
    from sagevocab.comparison import compare, written

    words = {name: getattr(arguments, name) for name in ("normalization", "max_word_chars")}
    errors = arguments.encoding_errors
    frame = compare(arguments.tokenizers, files, **words, encoding_errors=errors)
    print(written(frame, arguments.format), file=out)


def run_export(arguments: argparse.Namespace) -> None:
    """Write a vocabulary as a folder for AutoTokenizer, as pieces.txt or as sentencepiece's .vocab.

    The vocabulary is a list of pieces, a sentencepiece .model or a tokenizer folder.
    """
    words = WordSettings(arguments.normalization, arguments.max_word_chars)
    from sagevocab.foreign import convert

    path, output = arguments.vocabulary, arguments.output
    convert(path, output, arguments.format, words=words, force=arguments.force)


def _files(names: Sequence[str]) -> list[Path]:
    """Return the paths of texts.

    Raises:
        OSError: a file is missing.
        UserError: a compressed file has no bytes; standard input is asked for and closed.
    """
    for name in names:
        if name != "-":
            if not os.stat(name).st_size and name.endswith(_COMPRESSED):
                raise UserError(
                    f"{name}: has no bytes, not even compressed; fetch or copy it again"
                )
        elif sys.stdin is None:
            raise UserError("standard input is closed; name a file, or open it")
        elif sys.stdin.isatty():
            print("sagevocab: reading lines from the terminal; end with Ctrl-D", file=sys.stderr)
    return [Path(name) for name in names]


def _standard_output() -> TextIO:
    if sys.stdout is None:
        raise UserError("standard output is closed; send it to a file or a pipe")
    return sys.stdout


# --- options from the settings of the library

# Section of the configuration: title of its options, settings, prefix of the options.
SECTIONS: dict[str, tuple[str, type, str]] = {
    "vocabulary": ("text and initial vocabulary", VocabularyKeys, ""),
    "word2vec": ("skip-gram embeddings", Word2VecKeys, "word2vec-"),
    "sage": ("pruning (left out: as in the preset)", SageSettings, ""),
}
# Keys whose options are written out in `cli`.
_OWN = {
    "vocabulary.final_size": "--vocab-size",
    "vocabulary.initial_size": "--initial-size",
    "sage.final_size": "--vocab-size",
    "sage.preset": "--preset",
    "sage.seed": "--seed",
    "sage.threads": "--threads",
    "word2vec.seed": "--seed",
}
# Arguments of the library's functions that have the name of an option.
_ARGUMENTS = ("initial", "encoding_errors", "language")


# Fields without an option of their own, by dotted key: option, field.
_OPTIONS: dict[str, tuple[str, FieldInfo]] = {
    f"{section}.{name}": (f"--{prefix}{name.replace('_', '-')}", field)
    for section, (_, kind, prefix) in SECTIONS.items()
    for name, field in kind.__pydantic_fields__.items()
    if f"{section}.{name}" not in _OWN
}


_DOTTED_KEY = re.compile(rf"\b(?:{'|'.join(SECTIONS)})\.\w+")
# Keys of several words that follow another key of their section, as in "lower prune_batch", and
# the library's names of the sizes.
_KEYS = {key.partition(".")[2]: option for key, (option, _) in _OPTIONS.items()}
_KEYS |= {"vocab_size": "--vocab-size", "initial_size": "--initial-size"}
_BARE_KEY = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w./-])")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Give `parser` an option for every field of every section, by its dotted key."""
    groups = {name: parser.add_argument_group(title) for name, (title, *_) in SECTIONS.items()}
    for key, (option, field) in _OPTIONS.items():
        add = groups[key.partition(".")[0]].add_argument
        text = f"{field.description} (default: {field.default})".replace("%", "%%")
        shared: dict[str, Any] = {"dest": key, "default": argparse.SUPPRESS, "help": text}
        if field.annotation is bool:
            add(option, action=argparse.BooleanOptionalAction, **shared)
        else:
            add(option, type=_value, metavar=_metavar(field.annotation), **shared)


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what the user set, by section and field."""
    given: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, value in vars(arguments).items():
        if key in _OPTIONS:
            section, _, name = key.partition(".")
            given[section][name] = value
    return given


def in_options(message: str) -> str:
    """Name the options where a message names keys of settings, or begins with an argument."""
    argument, colon, rest = message.partition(": ")
    if argument in _ARGUMENTS:
        return f"--{argument.replace('_', '-')}{colon}{rest}"
    message = _DOTTED_KEY.sub(lambda key: _OWN.get(key[0]) or _option(key[0]), message)
    return _BARE_KEY.sub(lambda key: _KEYS.get(key[0], key[0]), message)


def _option(key: str) -> str:
    return _OPTIONS[key][0] if key in _OPTIONS else key


def _value(text: str) -> Any:
    """Read a number or text; the settings say themselves what they do not take."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _metavar(kind: Any) -> str:
    """Return what stands for a value in the usage: N, X, or the names to choose from."""
    if get_origin(kind) is Annotated:
        return _metavar(get_args(kind)[0])
    if members := get_args(kind):
        return "|".join(_metavar(member) for member in members)
    return {int: "N", float: "X", str: "ADDRESS"}.get(kind, str(kind))
