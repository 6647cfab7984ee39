"""Repeats the paper's experiments (section 4): data sets, comparison methods, metrics and published figures.

Nothing here is imported by the core. Methods see an ``Episode``; ``Labels`` stay with the scorer.
"""
