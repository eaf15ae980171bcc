"""A tokenizer becomes a model and scores (paper, Section 5 and Appendix A)."""
