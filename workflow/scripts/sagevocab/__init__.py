"""SaGe subword vocabularies: build them, measure them, train language models on them.

Subpackages, lower ones knowing nothing of higher ones: `data` (bytes become lines and rows),
`vocab` (lines become a vocabulary and a tokenizer), `analysis` (a tokenizer and a corpus become
measurements), `lm` (a tokenizer becomes a model and scores), `paper` (measurements become the
tables, figures and claims of "Incorporating Context into Subword Vocabularies", EACL 2023).
"""

__version__ = "0.1.0"
