"""Synthetic text: seeded generators that stand in for corpora and data sets nobody can ship.

Everything made here is of the project's own making (word lists, grammar, templates); it exercises
every stage of the pipeline, and its numbers say nothing about real language.
"""
