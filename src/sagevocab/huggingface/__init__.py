"""Tokenizers as `tokenizers` and `transformers` have them."""
