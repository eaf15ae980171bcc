"""Tokenizers measured on a text."""
