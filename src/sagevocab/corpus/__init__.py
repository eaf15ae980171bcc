"""Text: files, lines and the words in them."""
