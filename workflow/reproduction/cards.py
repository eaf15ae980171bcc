"""What the model cards of a run say of its tokenizers."""

from __future__ import annotations

from pathlib import Path

from reproduction.builds import CONTROLS
from reproduction.describe import describe_source
from reproduction.run import Run, Stanza

_PRUNED = {  # what controls prune
    "random": "pieces drawn at random",
    "frequency": "its least frequent pieces",
    "extra_tokens": "the pieces without which a text needs the fewest more tokens",
    "swallowed": "the pieces of which one merge takes the largest share",
}


def card(run: Run, language: str, tokenizer: str) -> Stanza:
    """Return what the model card of a tokenizer says."""
    method, settings = _method(run, language, tokenizer)
    is_external = run.tokenizer(tokenizer).method == "external"
    corpus = "not trained here" if is_external else describe_source(text_of(run, language))
    return {
        "language": language,
        "language_name": run.language(language).name,
        "method": method,
        "rows": {"Training corpus": corpus, **settings},
    }


def text_of(run: Run, language: str) -> Stanza:
    """Return what a training corpus is."""
    source = run.source("language_settings", language)
    shown = {"kind", "name", "title", "licence"}
    return {**source.model_dump(include=shown, exclude_none=True), "origin": source.origin}


def _method(run: Run, language: str, tokenizer: str) -> tuple[str, Stanza]:
    """Return a tokenizer's method in words, and the settings that a card lists."""
    method, greedy = run.tokenizer(tokenizer).method, "segmented by greedy longest match"
    if method == "sage":
        build = run.builds[tokenizer]
        start = "" if run.tokenizer(tokenizer).initial_method == "bpe" else " of UnigramLM's pieces"
        title = f"SaGe{start}, preset {build.settings['preset']}, {greedy}"
        return title, {"initial_size": build.initial_size, **build.settings}
    if method in CONTROLS:
        start = {"bpe": "BPE", "unigram": "UnigramLM"}[run.tokenizer(tokenizer).initial_method]
        title = f"{start} without {_PRUNED[method]} (a control for SaGe), {greedy}"
        return title, {**run.builds[tokenizer].settings}
    if method == "external":
        return f"imported from `{Path(run.tokenizer(tokenizer).path_in(language)).name}`", {}
    title = {
        "bpe": f"BPE, {greedy}",
        "bpe_merges": "BPE, segmented by its merges",
        "unigram": "UnigramLM",
        "unigram_greedy": f"UnigramLM, {greedy}",
        "wordpiece": f"WordPiece, {greedy}",
    }.get(method, method)
    return title, {}
