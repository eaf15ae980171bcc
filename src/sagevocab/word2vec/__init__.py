"""Embeddings of pieces: the trainer by blocks, or gensim's."""
