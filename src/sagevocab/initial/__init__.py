"""Vocabularies to prune: trained on text, or what one already has."""
