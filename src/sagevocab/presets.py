"""The presets: readings of SaGe that have a name."""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # The paper's Algorithm 3 as printed.
    "printed": {
        "decoder": "greedy",
        "loss": "total",
        "loss_lines": "all",
        "context_matrix": "own",
        "retrain": True,
        "push_back_line_start": False,
        "contexts": "real",
    },
    # The published program, SaGe 1.0, exactly: `sagevocab.pruning.released`.
    "released": {
        "decoder": "merges",
        "loss": "released",
        "loss_lines": 1000,
        "context_matrix": "shared",
        "retrain": False,
        "push_back_line_start": False,
        "contexts": "real",
    },
    # The loss of that program without the details of its code; docs/appendix/deviations.md.
    "released_loss": {
        "decoder": "merges",
        "loss": "mean_string_lines",
        "loss_lines": 1000,
        "context_matrix": "shared",
        "retrain": False,
        "push_back_line_start": True,
        "contexts": "real",
    },
    # A count that chooses much as `released_loss` does, without Word2Vec; docs/method.md.
    "counts": {
        "decoder": "merges",
        "loss": "tokens_per_line",
        "loss_lines": "all",
        "context_matrix": "shared",
        "retrain": False,
        "push_back_line_start": False,
        "contexts": "zero",
        "rerank_every": 0,
    },
    # Bits that a code of the text grows by, without Word2Vec: `sagevocab.pruning.codes`.
    "bigram_code": {
        "decoder": "greedy",
        "loss": "bigram_code",
        "loss_lines": "all",
        "context_matrix": "own",
        "retrain": False,
        "push_back_line_start": False,
        "contexts": "real",
    },
}
DEFAULT_PRESET = "printed"
