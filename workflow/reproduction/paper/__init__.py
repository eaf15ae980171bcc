"""Measurements become the paper's figures, tables and claims, beside the numbers it printed."""
