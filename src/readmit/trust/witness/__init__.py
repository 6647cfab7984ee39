"""A witness: a second machine that remembers the newest head of a log and cosigns only heads that extend it."""
