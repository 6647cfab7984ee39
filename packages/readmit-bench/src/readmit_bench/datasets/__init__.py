"""The three benchmarks in their official formats, read from a folder the user names. Nothing is downloaded."""
