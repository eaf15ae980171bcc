"""The reproduction of "Incorporating Context into Subword Vocabularies" (EACL 2023).

Not installed: the Snakefile puts this folder's parent and `src` on the search path. Lower ones know
nothing of higher ones: `data`, `analysis`, `lm`, `paper`; all may import `sagevocab`.
"""
