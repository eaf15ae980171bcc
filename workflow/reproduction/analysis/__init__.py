"""A tokenizer and a corpus become measurements."""
