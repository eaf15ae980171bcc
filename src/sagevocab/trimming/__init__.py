"""Exact pruning of a finished tokenizer: fewer entries, everything else as it was."""
