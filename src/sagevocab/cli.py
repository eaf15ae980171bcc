"""The command `sagevocab`: train, encode, compare, export.

Exit codes: 0; 1 after a user's mistake, with one line of text; 2 for wrong usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import difflib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO, get_args, get_origin

from sagevocab import __version__
from sagevocab.corpus.lines import BAD_TEXT, check_texts, lines_of
from sagevocab.errors import UserError
from sagevocab.files import FULL_DISK, is_tokenizer
from sagevocab.huggingface.detect import require_tokenizer
from sagevocab.option_names import KEYS, PARAMETERS, SECTIONS, TRAIN_ARGUMENTS, in_options, option
from sagevocab.presets import DEFAULT_PRESET, PRESETS
from sagevocab.settings import DEFAULT_SEED, GROWTH, VocabularyKeys, WordSettings
from sagevocab.validation import whole_number_hint

if TYPE_CHECKING:
    from sagevocab.vocabulary import SageVocabulary

FORMATS = ("table", "csv", "json", "markdown")
_WRONG_PATH = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_INTERRUPTED, _BROKEN_PIPE = 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; wrong usage exits with 2."""
    argv = sys.argv[1:] if argv is None else list(argv)
    _reserve_standard_streams()
    try:
        arguments = _parsed(argv)
        with _logs_on_standard_error(arguments):
            arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except UserError as error:
        return _fail(in_options(str(error)))
    except MemoryError:
        return _fail("out of memory; give less text or fewer pieces")
    except BrokenPipeError:
        # Python flushes standard output once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        advice = "; check the path" if isinstance(error, _WRONG_PATH) else ""
        advice = "; make room there" if error.errno in FULL_DISK else advice
        place = error.filename or "standard output or a file"
        return _fail(f"{place}: {error.strerror or error}{advice}")
    except KeyboardInterrupt:
        print("\nsagevocab: interrupted", file=sys.stderr, flush=True)
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


@contextmanager
def _logs_on_standard_error(arguments: argparse.Namespace) -> Iterator[None]:
    """Show log lines for as long as the command runs; its caller's logging stays as it was."""
    level = logging.INFO if getattr(arguments, "verbose", False) else logging.WARNING
    level = logging.ERROR if getattr(arguments, "quiet", False) else level
    handler = _AboveTheBar(sys.stderr)
    handler.setFormatter(logging.Formatter("sagevocab: %(message)s"))
    root, gensim = logging.getLogger(), logging.getLogger("gensim")
    handlers, levels = root.handlers, (root.level, gensim.level)
    root.handlers = [handler]
    root.setLevel(level)
    gensim.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.handlers = handlers
        for logger, before in zip((root, gensim), levels, strict=True):
            logger.setLevel(before)


class _AboveTheBar(logging.StreamHandler):
    """Writes log lines where they do not run into a bar of progress, with names of options."""

    def format(self, record: logging.LogRecord) -> str:
        return in_options(super().format(record))

    def emit(self, record: logging.LogRecord) -> None:
        from tqdm import tqdm

        with tqdm.external_write_mode(self.stream):
            super().emit(record)


# --- usage

_DEFAULT = "(default: %(default)s)"
_TOKENIZER = "folder, .model or list of pieces"
_COLUMN = "column that holds the text, if FILE is a table"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which knows near misses of options."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        end = " See" if message.endswith("?") else "; see"
        self.exit(2, f"{self.prog}: error: {message}{end} {self.prog} --help\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit with 2 for arguments that there are not."""
        name = next((one for one in unknown if one.startswith("-")), unknown[0]).partition("=")[0]
        known = [one for one in self._option_string_actions if one.startswith("--")]
        close = difflib.get_close_matches(name.replace("_", "-"), known, n=1)
        self.error(f"unknown option {name}" + (f"; did you mean {close[0]}?" if close else ""))


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    arguments, unknown = _parser().parse_known_args(argv)
    if hasattr(arguments, "files") and not any(name.startswith("-") for name in unknown):
        # Files after an option, which argparse leaves over where others stood before it.
        is_default = arguments.files is arguments.parser.get_default("files")
        arguments.files = unknown if unknown and is_default else [*arguments.files, *unknown]
    elif unknown:
        arguments.parser.refuse(unknown)
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sagevocab",
        description="Train SaGe tokenizers on your own text, use them, and compare tokenizers.",
    )
    parser.add_argument("--version", action="version", version=f"sagevocab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for run, name, summary, add_arguments in (
        (run_train, "train", "train a tokenizer on text", _add_train),
        (run_encode, "encode", "turn lines into pieces or ids", _add_encode),
        (run_compare, "compare", "measure tokenizers on a text", _add_compare),
        (run_export, "export", "convert a vocabulary", _add_export),
    ):
        with_help = run is not run_train  # where it is among the less common options
        command = commands.add_parser(
            name, help=summary, description=run.__doc__, add_help=with_help
        )
        add_arguments(command)
        command.set_defaults(run=run, parser=command)
    return parser


def _whole(text: str) -> int:
    """Read a whole number.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        return int(text)
    except ValueError:
        reason = f"{text!r} is not a whole number{whole_number_hint(text)}"
        raise argparse.ArgumentTypeError(reason) from None


def _sizes(text: str) -> list[int]:
    """Read whole numbers with commas between, in ascending order.

    Raises:
        argparse.ArgumentTypeError: one is none.
    """
    return sorted({_whole(part) for part in text.split(",")})


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.usage = "sagevocab train [FILE ...] -o DIR [options]"
    sizes = {"type": _whole, "metavar": "N"}
    usual = parser.add_argument_group("the usual options")
    add = usual.add_argument
    text = "lines of text or tables (jsonl, csv, tsv, parquet); - or none: standard input"
    add("files", nargs="*", default=["-"], metavar="FILE", help=text)
    add("-o", "--output", required=True, metavar="DIR", help="new folder of the tokenizer")
    size = f"pieces in the end, without special tokens {_DEFAULT}"
    one_or_more = usual.add_mutually_exclusive_group().add_argument
    one_or_more("--vocab-size", default=VocabularyKeys.vocab_size, help=size, **sizes)
    several = "a tokenizer of each size from one training, in DIR/N, such as 8000,12000,16000"
    one_or_more("--sizes", type=_sizes, metavar="N,N,...", help=several)
    add("--column", metavar="NAME", help=_COLUMN)
    preset = "the algorithm as printed, as in the authors' program (SaGe 1.0), or a count without "
    preset += f"Word2Vec that comes near SaGe 1.0 {_DEFAULT}"
    add("--preset", default=DEFAULT_PRESET, choices=PRESETS, help=preset)
    add("--threads", help="changes the time, not the result (default: all cores)", **sizes)
    lossless = "use pieces of bytes: decoding gives back every text, with its spaces"
    add("--lossless", action="store_true", help=lossless)
    specials = "a set, or a list with commas, such as '<unk>,<s>,</s>,<pad>' (default: bert)"
    add("--special-tokens", metavar="bert|gpt|none|LIST", help=specials)
    more = parser.add_argument_group("more options")
    add = more.add_argument
    add("-h", "--help", action="help", help="show this help and exit")
    larger = "pieces to prune from (default: a quarter more than --vocab-size, as in the paper)"
    add("--initial-size", help=larger, **sizes)
    initial = "what to prune: trained on the text, or a list of pieces, a sentencepiece .model, a "
    initial += f"Hugging Face folder or tokenizer.json {_DEFAULT}"
    add("--initial", default="bpe", metavar="bpe|unigram|PATH", help=initial)
    add("--template", metavar="TEXT", help="what goes around a text, such as '<s> $A </s>'")
    longest = "tokens that a model takes (default: 512 with bert, else no limit)"
    add("--model-max-length", help=longest, **sizes)
    add("--seed", default=DEFAULT_SEED, help=_DEFAULT, **sizes)
    add("--language", default="und", metavar="CODE", help="language, for the model card")
    add("--name", default="Unnamed language", help="its name, for the model card")
    add("--force", action="store_true", help="replace a tokenizer in the output folder")
    _add_bad_text(more)
    loudness = more.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print the log, no bar")
    add_settings(parser)


def _add_encode(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("tokenizer", metavar="TOKENIZER", help=_TOKENIZER)
    text = "text; - or none: standard input"
    add("files", nargs="*", default=["-"], metavar="FILE", help=text)
    add("--column", metavar="NAME", help=_COLUMN)
    _add_bad_text(parser)
    add("--output", choices=("pieces", "ids"), default="pieces", help=_DEFAULT)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("tokenizers", nargs="+", metavar="TOKENIZER", help=_TOKENIZER)
    add("--text", nargs="+", required=True, metavar="FILE", help="lines of text; - for stdin")
    add("--column", metavar="NAME", help=_COLUMN)
    add("--format", choices=FORMATS, default=FORMATS[0], help=_DEFAULT)
    _add_words(parser)
    _add_bad_text(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("vocabulary", metavar="VOCABULARY", help="list of pieces or .model")
    add("-o", "--output", required=True, metavar="DIR", help="new folder")
    add("--force", action="store_true", help="replace a tokenizer that is there")
    _add_words(parser)


def _add_words(parser: argparse.ArgumentParser) -> None:
    add, words = parser.add_argument, WordSettings()
    rule = f"sentencepiece's rule {_DEFAULT}"
    add("--normalization", default=words.normalization, metavar="NAME", help=rule)
    longest = f"longer words are cut {_DEFAULT}"
    add("--max-word-chars", type=int, default=words.max_word_chars, metavar="N", help=longest)


def _add_bad_text(parser: argparse._ActionsContainer) -> None:
    text = "lines or rows that are not UTF-8 or hold a NUL: refuse, read U+FFFD, or leave out "
    add = parser.add_argument
    add("--bad-text", choices=BAD_TEXT, default=BAD_TEXT[0], help=text + _DEFAULT)


# --- commands; their first lines are the usage's
# Files are looked for before the libraries are loaded that read them, which takes seconds.


def run_train(arguments: argparse.Namespace) -> None:
    """Build a SaGe vocabulary from lines of text, plain or compressed (gz, bz2, xz, zst)."""
    given = {name: getattr(arguments, name) for name in TRAIN_ARGUMENTS}
    _check_order(arguments.files, arguments.output)
    files = _files(arguments.files, arguments)
    from sagevocab.training import train

    shown = not (arguments.quiet or arguments.verbose)
    settings = given_settings(arguments)
    if arguments.sizes:
        _train_sizes(
            arguments, lambda **more: train(files, progress=shown, **given | more, **settings)
        )
        return
    built = train(files, progress=shown, **given, **settings)
    if not arguments.quiet:
        output = arguments.output
        _say_what_was_written(built, output)
        use = f"AutoTokenizer.from_pretrained({output!r}), or: sagevocab encode {output} FILE"
        print(f"sagevocab: load it with {use}", file=sys.stderr)


def _train_sizes(arguments: argparse.Namespace, train: Callable[..., SageVocabulary]) -> None:
    """Train once, to the smallest size, and write a folder for each.

    train: takes what differs from the arguments that the user gave.
    """
    from sagevocab.huggingface.export import check_output
    from sagevocab.initial.vocabulary import METHODS, read_initial

    sizes = arguments.sizes
    folders = {size: Path(arguments.output) / str(size) for size in sizes}
    for folder in folders.values():
        check_output(folder, arguments.force)
    initial_size = arguments.initial_size
    is_trained = arguments.initial in METHODS
    if is_trained and initial_size is None:
        initial_size = round(GROWTH * sizes[-1])
    most = initial_size if is_trained else len(read_initial(arguments.initial).pieces)
    if sizes[-1] > most:
        raise UserError(
            f"--sizes: {sizes[-1]} is above the {most} initial pieces, from which SaGe prunes; "
            "lower it or start from a larger vocabulary"
        )
    try:
        built = train(vocab_size=sizes[0], initial_size=initial_size, output=None)
    except UserError as error:  # the option that a user gave
        raise UserError(str(error).replace("vocab_size", "--sizes")) from error
    for size, folder in folders.items():
        vocabulary = built.at_size(size)
        vocabulary.save(folder, force=arguments.force)
        if not arguments.quiet:
            _say_what_was_written(vocabulary, folder)


def _say_what_was_written(vocabulary: SageVocabulary, folder: str | Path) -> None:
    sizes = f"{len(vocabulary.pieces)} pieces, {len(vocabulary.ablations['piece'])} pruned"
    print(f"sagevocab: {folder}: {sizes}", file=sys.stderr)


def _check_order(files: Sequence[str], output: str) -> None:
    if Path(output).is_file() and not any(Path(file).is_file() for file in files):
        raise UserError(
            f"{output}: is a file, and -o names a new folder; if it is the text: sagevocab train "
            f"{output} -o {'DIR' if files[0] == '-' else files[0]}"
        )


def _check_swapped(usage: str, tokenizer: str, texts: Sequence[str]) -> None:
    """Refuse a tokenizer as text; usage: the command, with the places of tokenizer and text."""
    for text in texts:
        if is_tokenizer(Path(text)):
            right = usage.format(text, "FILE" if is_tokenizer(Path(tokenizer)) else tokenizer)
            raise UserError(f"{text}: is a tokenizer, not text; give them so: sagevocab {right}")


def run_encode(arguments: argparse.Namespace) -> None:
    """Print for each line of text one line of pieces or ids, with spaces between.

    They are those of AutoTokenizer, without special tokens: text that spells one is text. An empty
    line gives an empty line.
    """
    _check_swapped("encode {} {}", arguments.tokenizer, arguments.files)
    out, files = _standard_output(), _files(arguments.files, arguments)
    require_tokenizer(Path(arguments.tokenizer))
    from sagevocab.huggingface.load import load

    lines = lines_of(files, arguments.column, arguments.bad_text)
    encoder = load(arguments.tokenizer)
    if hasattr(out, "reconfigure"):
        out.reconfigure(encoding="utf-8", newline="\n")
    for ids in encoder.encode_lines(lines):
        shown = encoder.names(ids) if arguments.output == "pieces" else map(str, ids)
        out.write(" ".join(shown) + "\n")


def run_compare(arguments: argparse.Namespace) -> None:
    """Print the intrinsic measures of tokenizers on the same text."""
    _check_swapped("compare {} --text {}", arguments.tokenizers[0], arguments.text)
    out, files = _standard_output(), _files(arguments.text, arguments)
    for path in arguments.tokenizers:
        require_tokenizer(Path(path))
    from sagevocab.evaluation.compare import compare, written

    given = ("normalization", "max_word_chars", "column", "bad_text")
    frame = compare(
        arguments.tokenizers, files, **{name: getattr(arguments, name) for name in given}
    )
    print(written(frame, arguments.format), file=out)


def run_export(arguments: argparse.Namespace) -> None:
    """Write a vocabulary as a folder for AutoTokenizer.

    The vocabulary is a list of pieces or a sentencepiece .model.
    """
    words = WordSettings(arguments.normalization, arguments.max_word_chars)
    from sagevocab.huggingface.load import convert

    convert(arguments.vocabulary, arguments.output, words=words, force=arguments.force)


def _files(names: Sequence[str], arguments: argparse.Namespace) -> list[Path]:
    """Return the paths of the texts that a command is given.

    Raises:
        UserError: a file is missing or not to be read; standard input is named and closed.
    """
    files = [Path(name) for name in names]
    check_texts(files)
    if "-" in names and sys.stdin is None:
        raise UserError("standard input is closed; name a file, or open it")
    if "-" in names and sys.stdin.isatty():
        print("sagevocab: reading lines from the terminal; end with Ctrl-D", file=sys.stderr)
    return files


def _standard_output() -> TextIO:
    if sys.stdout is None:
        raise UserError("standard output is closed; send it to a file or a pipe")
    return sys.stdout


# --- options from the settings of the library

# Fields with an option of their own, by dotted key; the others have one that is written out here.
_FIELDS = {key: field for key, field in KEYS.items() if key not in PARAMETERS}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Give `parser` an option for every field of every section, by its dotted key."""
    groups = {name: parser.add_argument_group(title) for name, (title, *_) in SECTIONS.items()}
    for key, field in _FIELDS.items():
        add = groups[key.partition(".")[0]].add_argument
        text = f"{field.description} (default: {field.default})".replace("%", "%%")
        shared: dict[str, Any] = {"dest": key, "default": argparse.SUPPRESS, "help": text}
        if field.annotation is bool:
            add(option(key), action=argparse.BooleanOptionalAction, **shared)
        else:
            add(option(key), type=_value, metavar=_metavar(field.annotation), **shared)


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what the user set, by section and field."""
    given: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, value in vars(arguments).items():
        if key in _FIELDS:
            section, _, name = key.partition(".")
            given[section][name] = value
    return given


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
