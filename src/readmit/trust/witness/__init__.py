"""A second machine that remembers the newest head of a log and cosigns only what extends it."""
