"""The command `sagevocab`: train, encode, compare, export.

Exit codes: 0; 1 after a user's mistake, with one line of text; 2 for wrong usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from sagevocab import __version__
from sagevocab.cli_options import add_settings, given_settings, in_options
from sagevocab.errors import UserError
from sagevocab.vocab.presets import DEFAULT_PRESET, PRESETS
from sagevocab.vocab.settings import DEFAULT_SEED, VocabularyKeys, WordSettings

FORMATS = ("table", "csv", "json", "markdown")
EXPORTS = ("huggingface", "pieces", "vocab")
_INTERRUPTED, _BROKEN_PIPE = 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; wrong usage exits with 2."""
    argv = sys.argv[1:] if argv is None else list(argv)
    _reserve_standard_streams()
    try:
        arguments = _parser().parse_args(argv)
        _log_to_standard_error(_log_level(arguments))
        arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except UserError as error:
        unreadable = isinstance(error.__cause__, UnicodeDecodeError)
        advice = ", or give --encoding-errors replace" if unreadable else ""
        return _fail(f"{in_options(str(error))}{advice}")
    except MemoryError:
        return _fail("out of memory; give less text or fewer pieces")
    except BrokenPipeError:
        # Python flushes standard output once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        return _fail(f"{error.filename or 'input or output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        again = "; run the same command again to go on" if argv[:1] == ["train"] else ""
        print(f"\nsagevocab: interrupted{again}", file=sys.stderr)
        return _INTERRUPTED


def _reserve_standard_streams() -> None:
    """Keep the numbers of closed streams from files opened later, which would get their text."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    if sys.stderr is None:  # print() would write to standard output
        sys.stderr = os.fdopen(2, "w")


def _fail(message: str) -> int:
    print(f"sagevocab: error: {message}", file=sys.stderr)
    return 1


def _log_to_standard_error(level: int) -> None:
    """Print records of `level`; the handler too must know it, whatever level a logger is set to."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(level)
    logging.basicConfig(
        level=level, format="sagevocab: %(message)s", handlers=[handler], force=True
    )
    logging.getLogger("gensim").setLevel(logging.WARNING)


def _log_level(arguments: argparse.Namespace) -> int:
    if getattr(arguments, "quiet", False):
        return logging.ERROR
    return logging.INFO if getattr(arguments, "verbose", False) else logging.WARNING


# --- usage


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sagevocab",
        description="Build SaGe subword vocabularies from your own text, use and compare them.",
    )
    parser.add_argument("--version", action="version", version=f"sagevocab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_train(commands)
    _add_encode(commands)
    _add_compare(commands)
    _add_export(commands)
    return parser


def _add_train(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "train",
        help="build a vocabulary from text",
        description="Build a SaGe vocabulary from lines of text, plain or compressed (gz, bz2, "
        "xz, zst). A training that was stopped goes on when the same command is run again.",
    )
    add = parser.add_argument
    add("files", nargs="*", default=["-"], metavar="FILE", help="text; - or none: standard input")
    add("-o", "--output", required=True, metavar="DIR", help="new folder of the tokenizer")
    add(
        "--vocab-size",
        type=int,
        default=VocabularyKeys.final_size,
        metavar="N",
        help="(default: %(default)s)",
    )
    add("--initial-size", type=int, metavar="N", help="pieces to prune from (default: a quarter "
        "more than --vocab-size, as in the paper)")  # fmt: skip
    add("--initial", default="bpe", metavar="bpe|unigram|PATH", help="what to prune: trained on "
        "the text, or a list of pieces, a sentencepiece .model, a folder with pieces.txt "
        "(default: %(default)s)")  # fmt: skip
    add("--preset", default=DEFAULT_PRESET, choices=PRESETS, help="the paper as printed, or the "
        "program published for it (default: %(default)s)")  # fmt: skip
    add("--seed", type=int, default=DEFAULT_SEED, metavar="N", help="(default: %(default)s)")
    add("--threads", type=int, metavar="N", help="change nothing but the time (default: all)")
    _add_encoding_errors(parser)
    add("--language", default="und", metavar="CODE", help="for the model card")
    add("--name", default="Unnamed language", help="of the language, for the model card")
    add("--state-dir", metavar="DIR", help="keeps progress (default: hidden, beside the output)")
    add("--force", action="store_true", help="replace a tokenizer in the output folder")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print the log, no bar")
    add_settings(parser)
    parser.set_defaults(run=run_train)


def _add_encode(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "encode",
        help="turn lines into pieces or ids",
        description="Print for each line of text one line of pieces or ids, with spaces between; "
        "they are those of AutoTokenizer, without special tokens added.",
    )
    _add_tokenizer(parser)
    add = parser.add_argument
    add("files", nargs="*", default=["-"], metavar="FILE", help="text; - or none: standard input")
    add("--output", choices=("pieces", "ids"), default="pieces", help="(default: %(default)s)")
    _add_encoding_errors(parser)
    parser.set_defaults(run=run_encode)


def _add_compare(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "compare",
        help="measure tokenizers on a text",
        description="Print the intrinsic measures of tokenizers on the same text.",
    )
    add = parser.add_argument
    add("tokenizers", nargs="+", metavar="TOKENIZER", help="folder, .model or list of pieces")
    add("--text", nargs="+", required=True, metavar="FILE", help="lines of text; - for stdin")
    add("--format", choices=FORMATS, default=FORMATS[0], help="(default: %(default)s)")
    _add_words(parser)
    _add_encoding_errors(parser)
    parser.set_defaults(run=run_compare)


def _add_export(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "export",
        help="write a vocabulary in another form",
        description="Write a list of pieces, a sentencepiece .model or a tokenizer folder as a "
        "folder for AutoTokenizer, as pieces.txt or as sentencepiece's .vocab.",
    )
    add = parser.add_argument
    add("vocabulary", metavar="VOCABULARY", help="list of pieces, .model or folder")
    add("-o", "--output", required=True, metavar="PATH", help="new folder; for pieces and vocab "
        "a new file")  # fmt: skip
    add("--format", choices=EXPORTS, default=EXPORTS[0], help="(default: %(default)s)")
    add("--force", action="store_true", help="replace what is there")
    _add_words(parser)
    parser.set_defaults(run=run_export)


def _add_tokenizer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokenizer", metavar="TOKENIZER", help="folder, .model or list of pieces")


def _add_words(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    words = WordSettings()
    add("--normalization", default=words.normalization, metavar="NAME", help="(default: "
        "%(default)s)")  # fmt: skip
    add("--max-word-chars", type=int, default=words.max_word_chars, metavar="N", help="(default: "
        "%(default)s)")  # fmt: skip


def _add_encoding_errors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--encoding-errors",
        choices=("strict", "replace"),
        default="strict",
        help="what is not UTF-8 is refused, or read as U+FFFD (default: %(default)s)",
    )


# --- commands


def run_train(arguments: argparse.Namespace) -> None:
    """Do `sagevocab train`."""
    files = _files(arguments.files)
    from sagevocab.cli_progress import shown_progress
    from sagevocab.vocab.train import train

    with shown_progress(quiet=arguments.quiet or arguments.verbose) as progress:
        built = train(
            files,
            vocab_size=arguments.vocab_size,
            initial_size=arguments.initial_size,
            initial=arguments.initial,
            preset=arguments.preset,
            seed=arguments.seed,
            threads=arguments.threads,
            encoding_errors=arguments.encoding_errors,
            language=arguments.language,
            name=arguments.name,
            output=arguments.output,
            force=arguments.force,
            state_dir=arguments.state_dir,
            progress=progress,
            **given_settings(arguments),
        )
    if not arguments.quiet:
        sizes = f"{len(built.pieces)} pieces, {len(built.ablations)} pruned"
        print(f"sagevocab: {arguments.output}: {sizes}", file=sys.stderr)


def run_encode(arguments: argparse.Namespace) -> None:
    """Do `sagevocab encode`."""
    out, files = _standard_output(), _files(arguments.files)
    os.stat(arguments.tokenizer)
    from sagevocab.data.corpus import lines_of
    from sagevocab.vocab.external import load

    encoder = load(arguments.tokenizer)
    lines = lines_of(files, arguments.encoding_errors)
    as_text = encoder.names if arguments.output == "pieces" else _numerals
    if hasattr(out, "reconfigure"):
        out.reconfigure(encoding="utf-8", newline="\n")
    for ids in encoder.encode_lines(lines):
        out.write(" ".join(as_text(ids)) + "\n")


def _numerals(ids: Sequence[int]) -> list[str]:
    return list(map(str, ids))


def run_compare(arguments: argparse.Namespace) -> None:
    """Do `sagevocab compare`."""
    out, files = _standard_output(), _files(arguments.text)
    for path in arguments.tokenizers:
        os.stat(path)
    from sagevocab.analysis.compare import compare, written

    frame = compare(
        arguments.tokenizers,
        files,
        normalization=arguments.normalization,
        max_word_chars=arguments.max_word_chars,
        encoding_errors=arguments.encoding_errors,
    )
    print(written(frame, arguments.format), file=out)


def run_export(arguments: argparse.Namespace) -> None:
    """Do `sagevocab export`."""
    from sagevocab.vocab.external import convert
    from sagevocab.vocab.settings import WordSettings

    words = WordSettings(arguments.normalization, arguments.max_word_chars)
    path, output = arguments.vocabulary, arguments.output
    convert(path, output, arguments.format, words=words, force=arguments.force)


# Files are looked for before the libraries are loaded that read them, which takes seconds.


def _files(names: Sequence[str]) -> list[Path]:
    """Return the paths of texts.

    Raises:
        OSError: a file is missing.
        UserError: standard input is asked for and closed.
    """
    for name in names:
        if name != "-":
            os.stat(name)
        elif sys.stdin is None:
            raise UserError("standard input is closed; name a file, or open it")
        elif sys.stdin.isatty():
            print("sagevocab: reading lines from the terminal; end with Ctrl-D", file=sys.stderr)
    return [Path(name) for name in names]


def _standard_output() -> TextIO:
    if sys.stdout is None:
        raise UserError("standard output is closed; send it to a file or a pipe")
    return sys.stdout
