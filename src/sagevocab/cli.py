"""The command `sagevocab`: train, prune, encode, compare, export.

Exit codes: 0; 1 after a user's mistake, with one line of text; 2 for wrong usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import inspect
import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args, get_origin

from sagevocab import __version__
from sagevocab.corpus.text import BAD_TEXT, lines_of
from sagevocab.errors import UserError
from sagevocab.presets import DEFAULT_PRESET, PRESETS
from sagevocab.settings import (
    DEFAULT_SEED,
    GROWTH,
    SageSettings,
    VocabularyKeys,
    Word2VecKeys,
    WordSettings,
)

if TYPE_CHECKING:
    from sagevocab.vocabulary import SageVocabulary

# Section of the settings: title of its options, and its class. A setting is an option by its key,
# `--sage.window`; those that are options of their own are left out.
SECTIONS: dict[str, tuple[str, type]] = {
    "vocabulary": ("text and initial vocabulary", VocabularyKeys),
    "word2vec": ("skip-gram embeddings", Word2VecKeys),
    "sage": ("pruning (left out: as in the preset)", SageSettings),
}
_OPTIONS = ("vocab_size", "initial_size", "seed", "threads")
_INTERRUPTED, _BROKEN_PIPE = 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; wrong usage exits with 2."""
    arguments = None
    try:
        arguments = _parsed(sys.argv[1:] if argv is None else list(argv))
        with _log_on_standard_error(arguments):
            arguments.run(arguments)
        sys.stdout.flush()
        return 0
    except UserError as error:
        return _fail(_with_option(str(error), arguments))
    except MemoryError:
        return _fail("out of memory; give less text or fewer pieces")
    except BrokenPipeError:
        _discard_standard_output()
        return _BROKEN_PIPE
    except OSError as error:
        if not error.filename:
            _discard_standard_output()
        place = error.filename or "standard output"
        return _fail(f"{place}: {error.strerror or error}; check the path and the room there")
    except KeyboardInterrupt:
        print("\nsagevocab: interrupted", file=sys.stderr, flush=True)
        return _INTERRUPTED


def _discard_standard_output() -> None:
    """Send what is left of it nowhere: Python flushes it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> int:
    print(f"sagevocab: error: {message}", file=sys.stderr)
    return 1


def _with_option(message: str, arguments: argparse.Namespace | None) -> str:
    """Return a message with the option of the command where it begins with an argument's name."""
    key, colon, reason = message.partition(": ")
    options = arguments.parser.options() if arguments else []
    names = f"--{key}", f"--{key.rpartition('.')[2].replace('_', '-')}"
    return next((f"{name}{colon}{reason}" for name in names if name in options), message)


@contextmanager
def _log_on_standard_error(arguments: argparse.Namespace) -> Iterator[None]:
    """Show log lines above the bar for as long as the command runs."""
    from tqdm.contrib.logging import logging_redirect_tqdm

    level = logging.INFO if getattr(arguments, "verbose", False) else logging.WARNING
    level = logging.ERROR if getattr(arguments, "quiet", False) else level
    log, handler = logging.getLogger("sagevocab"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("sagevocab: %(message)s"))
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate = False
    try:
        with logging_redirect_tqdm([log]):
            yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


# --- usage

_DEFAULT = "(default: %(default)s)"
_TOKENIZER = "folder, .model or list of pieces"
_EXAMPLES = {
    "train": "corpus.txt -o my-sage --vocab-size 16000",
    "prune": "TOKENIZER corpus.txt -o smaller --vocab-size 20000",
    "encode": "my-sage corpus.txt > pieces.txt",
    "compare": "my-sage bpe.model --text heldout.txt",
    "export": "bpe.model -o my-bpe",
}
_COLUMN = "column that holds the text, if FILE is a table"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def options(self) -> list[str]:
        """Return the long options of the command."""
        return [name for name in self._option_string_actions if name.startswith("--")]


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    arguments, unknown = _parser().parse_known_args(argv)
    wrong = [name.partition("=")[0] for name in unknown if name.startswith("-")]
    if hasattr(arguments, "files") and not wrong:
        # Files after an option, which argparse leaves over where others stood before it.
        is_default = arguments.files is arguments.parser.get_default("files")
        arguments.files = unknown if unknown and is_default else [*arguments.files, *unknown]
    elif unknown:
        options = arguments.parser.options()
        close = difflib.get_close_matches(wrong[0], options, n=1) if wrong else []
        hint = f"; did you mean {close[0]}?" if close else ""  # all are in the help
        arguments.parser.error(f"unknown: {' '.join(unknown)}{hint}")
    if getattr(arguments, "sizes", None) and all(name.isdigit() for name in arguments.files):
        arguments.parser.error("--sizes: give the sizes with commas between, as in 8000,12000")
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sagevocab",
        description="Train SaGe tokenizers on your own text, use them, and compare tokenizers.",
        epilog=f"example: sagevocab train {_EXAMPLES['train']}",
    )
    parser.add_argument("--version", action="version", version=f"sagevocab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for run, name, summary, add_arguments in (
        (run_train, "train", "train a tokenizer on text", _add_train),
        (run_prune, "prune", "take entries away from a finished tokenizer", _add_prune),
        (run_encode, "encode", "turn lines into pieces or ids", _add_encode),
        (run_compare, "compare", "measure tokenizers on a text", _add_compare),
        (run_export, "export", "convert a vocabulary", _add_export),
    ):
        example = f"example: sagevocab {name} {_EXAMPLES[name]}"
        command = commands.add_parser(name, help=summary, description=run.__doc__, epilog=example)
        add_arguments(command)
        command.set_defaults(run=run, parser=command)
    return parser


def _whole_number(text: str) -> int:
    """Read a whole number.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        return int(text)
    except ValueError:
        reason = f"{text!r} is not a whole number; write it as 16000, not 16k"
        raise argparse.ArgumentTypeError(reason) from None


def _sizes(text: str) -> list[int]:
    """Read whole numbers with commas between, in ascending order.

    Raises:
        argparse.ArgumentTypeError: one is none, or is there twice.
    """
    try:
        sizes = sorted(int(part) for part in text.split(","))
    except ValueError:
        reason = f"{text!r} is not whole numbers with commas between, as in 8000,12000"
        raise argparse.ArgumentTypeError(reason) from None
    if len({*sizes}) < len(sizes):
        raise argparse.ArgumentTypeError(f"{text!r} has a size twice; remove one of them")
    return sizes


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.usage = "sagevocab train [FILE ...] -o DIR [options]"
    sizes = {"type": _whole_number, "metavar": "N"}
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
    preset = (
        "the algorithm as printed, the authors' program (SaGe 1.0) or its loss alone, or, without "
    )
    preset += f"Word2Vec, a count or a code of the text {_DEFAULT}"
    add("--preset", default=DEFAULT_PRESET, metavar="|".join(PRESETS), help=preset)
    add("--threads", help="changes the time, not the result (default: all cores)", **sizes)
    lossless = "use pieces of bytes: decoding gives back every text, with its spaces"
    add("--lossless", action="store_true", help=lossless)
    specials = "a set, or a list with commas, such as '<unk>,<s>,</s>,<pad>' (default: bert)"
    add("--special-tokens", metavar="bert|gpt|none|LIST", help=specials)
    more = parser.add_argument_group("more options")
    add = more.add_argument
    larger = "pieces to prune from (default: a quarter more than --vocab-size, as in the paper)"
    add("--initial-size", help=larger, **sizes)
    initial = "what to prune: trained on the text, or a list of pieces or a sentencepiece .model "
    initial += _DEFAULT
    add("--initial", default="bpe", metavar="bpe|unigram|PATH", help=initial)
    add("--seed", default=DEFAULT_SEED, help=_DEFAULT, **sizes)
    add("--language", default="und", metavar="CODE", help="language, for the model card")
    add("--name", default="Unnamed language", help="name of the tokenizer, for the model card")
    add("--force", action="store_true", help="replace a tokenizer in the output folder")
    _add_bad_text(more)
    loudness = more.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print the log, no bar")
    add_settings(parser)


def _add_prune(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("tokenizer", metavar="TOKENIZER", help="Hugging Face folder or tokenizer.json")
    text = "text that the tokenizer should fit: lines or tables; - or none: standard input"
    add("files", nargs="*", default=["-"], metavar="FILE", help=text)
    add("-o", "--output", required=True, metavar="DIR", help="new folder of the tokenizer")
    size = "entries in the end, with added tokens"
    add("--vocab-size", required=True, type=_whole_number, metavar="N", help=size)
    by = "what a piece costs: the tokens that the text gains without it, or its occurrences "
    add("--by", choices=("tokens", "frequency"), default="tokens", help=by + _DEFAULT)
    keep = "a piece that stays, as the file writes it; may be given more than once"
    add("--keep", action="append", default=[], metavar="PIECE", help=keep)
    add("--column", metavar="NAME", help=_COLUMN)
    _add_bad_text(parser)
    add("--force", action="store_true", help="replace a tokenizer that is there")


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
    add("--format", choices=("table", "json"), default="table", help=_DEFAULT)
    _add_words(parser)
    _add_bad_text(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("vocabulary", metavar="VOCABULARY", help="list of pieces or .model")
    add("-o", "--output", required=True, metavar="DIR", help="new folder")
    add("--force", action="store_true", help="replace a tokenizer that is there")
    _add_words(parser)


def _add_words(parser: argparse.ArgumentParser) -> None:
    words, left_out = WordSettings(), argparse.SUPPRESS
    add = functools.partial(parser.add_argument, default=left_out)
    rule = f"sentencepiece's rule (default: {words.normalization})"
    add("--normalization", metavar="NAME", help=rule)
    longest = f"longer words are cut (default: {words.max_word_chars})"
    add("--max-word-chars", type=_whole_number, metavar="N", help=longest)


def _given_words(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("normalization", "max_word_chars")
    return {name: value for name, value in vars(arguments).items() if name in names}


def _add_bad_text(parser: argparse._ActionsContainer) -> None:
    text = "lines or rows that are not UTF-8 or hold a NUL: refuse, read U+FFFD, or leave out "
    add = parser.add_argument
    add("--bad-text", choices=BAD_TEXT, default=BAD_TEXT[0], help=text + _DEFAULT)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Give `parser` an option for every setting by its key, such as `--sage.window`."""
    for section, (title, kind) in SECTIONS.items():
        add = parser.add_argument_group(title).add_argument
        for name, field in kind.__pydantic_fields__.items():
            if name not in _OPTIONS:
                text = f"{field.description} (default: {field.default})".replace("%", "%%")
                shared: dict[str, Any] = {"default": argparse.SUPPRESS, "help": text}
                add(
                    f"--{section}.{name}", type=_value, metavar=_metavar(field.annotation), **shared
                )


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the settings that the user set, by section and name."""
    given: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, value in vars(arguments).items():
        section, dot, name = key.partition(".")
        if dot:
            given[section][name] = value
    return given


def _value(text: str) -> Any:
    """Read a number, a truth value or text; the settings say themselves what they do not take."""
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
    return {int: "N", float: "X", bool: "true|false"}.get(kind, str(kind))


# --- commands; their first lines are the usage's


def run_train(arguments: argparse.Namespace) -> None:
    """Build a SaGe vocabulary from lines of text, plain or compressed (gz, bz2, xz, zst)."""
    files = _files(arguments.files)
    from sagevocab.training import train

    given = vars(arguments)
    options = {name: given[name] for name in inspect.signature(train).parameters if name in given}
    options |= given_settings(arguments)
    options["progress"] = not (arguments.quiet or arguments.verbose)
    if arguments.sizes:
        written = _train_sizes(files, arguments.sizes, options)
    else:
        written = {arguments.output: train(files, **options)}
    if arguments.quiet:
        return
    for folder, vocabulary in written.items():
        pruned = len(vocabulary.ablations["piece"])
        print(
            f"sagevocab: {folder}: {len(vocabulary.pieces)} pieces, {pruned} pruned\n"
            f"  in Python: transformers.AutoTokenizer.from_pretrained({str(folder)!r})\n"
            f"  on text: sagevocab encode {folder} FILE; "
            f"sagevocab compare {folder} OTHER --text FILE",
            file=sys.stderr,
        )


def _train_sizes(
    files: list[Path], sizes: Sequence[int], options: dict[str, Any]
) -> dict[Path, SageVocabulary]:
    """Train once, to the smallest size, and write a folder for each."""
    from sagevocab.huggingface.export import check_output
    from sagevocab.initial.vocabulary import METHODS, read_initial
    from sagevocab.training import read_files, train

    folders = {size: Path(options["output"]) / str(size) for size in sizes}
    for folder in folders.values():
        check_output(folder, options["force"], read_files(files, options["initial"]))
    is_trained = options["initial"] in METHODS
    if is_trained and options["initial_size"] is None:
        options["initial_size"] = round(GROWTH * sizes[-1])
    most = options["initial_size"] if is_trained else len(read_initial(options["initial"]).pieces)
    if sizes[-1] > most:
        raise UserError(
            f"sizes: {sizes[-1]} is above the {most} initial pieces, from which SaGe prunes; lower "
            "it or start from more"
        )
    built = train(files, **options | {"vocab_size": sizes[0], "output": None})
    written = {folder: built.at_size(size) for size, folder in folders.items()}
    for folder, vocabulary in written.items():
        vocabulary.save(folder, force=options["force"])
    return written


def run_prune(arguments: argparse.Namespace) -> None:
    """Take entries away from a finished tokenizer.

    Text without the pruned pieces is cut as before. old_ids.npy has the row of each new id in the
    tokenizer's model.
    """
    files = _files(arguments.files)
    from sagevocab.trimming.prune import prune

    given = ("vocab_size", "by", "keep", "column", "bad_text", "output", "force")
    result = prune(arguments.tokenizer, files, **{name: getattr(arguments, name) for name in given})
    before, now = result.tokens
    print(
        f"sagevocab: {arguments.output}: {len(result.old_ids)} entries, {len(result.pruned)} "
        f"pruned; the text has {now:,} tokens, {before:,} before",
        file=sys.stderr,
    )
    if any(Path(arguments.tokenizer).glob("*.safetensors")):
        print(
            f"sagevocab: the model in {arguments.tokenizer} has the old ids; make it fit with "
            f"sagevocab.prune_model({str(arguments.tokenizer)!r}, {str(arguments.output)!r}, "
            "output) in Python",
            file=sys.stderr,
        )


def run_encode(arguments: argparse.Namespace) -> None:
    """Print for each line of text one line of pieces or ids, with spaces between.

    They are those of AutoTokenizer, without special tokens: text that spells one is text. An empty
    line gives an empty line.
    """
    files = _files(arguments.files)
    from sagevocab.huggingface.load import load

    lines = lines_of(files, arguments.column, arguments.bad_text)
    encoder = load(arguments.tokenizer)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for ids in encoder.encode_lines(lines):
        shown = encoder.names(ids) if arguments.output == "pieces" else map(str, ids)
        sys.stdout.write(" ".join(shown) + "\n")


def run_compare(arguments: argparse.Namespace) -> None:
    """Print the intrinsic measures of tokenizers on the same text."""
    files = _files(arguments.text)
    from sagevocab.evaluation.compare import compare

    given = {"column": arguments.column, "bad_text": arguments.bad_text}
    compared = compare(arguments.tokenizers, files, **given, **_given_words(arguments))
    if arguments.format == "json":
        print(json.dumps(compared, indent=2, ensure_ascii=False))
    else:
        print(compared)


def run_export(arguments: argparse.Namespace) -> None:
    """Write a vocabulary as a folder for AutoTokenizer.

    The vocabulary is a list of pieces or a sentencepiece .model.
    """
    from sagevocab.huggingface.load import convert

    words = _given_words(arguments)
    convert(arguments.vocabulary, arguments.output, words, force=arguments.force)


def _files(names: Sequence[str]) -> list[Path]:
    """Return the paths of the texts that a command is given."""
    if "-" in names and sys.stdin and sys.stdin.isatty():
        print("sagevocab: reading lines from the terminal; end with Ctrl-D", file=sys.stderr)
    return [Path(name) for name in names]
