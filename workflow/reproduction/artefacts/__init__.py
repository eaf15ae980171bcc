"""The figures and tables of a run: what each reads, what it is part of, and how it is made."""
