"""Lines become a vocabulary and a tokenizer."""
