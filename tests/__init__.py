"""The tests. A package, so that they can share `tests.simulator` and run `python -m tests.docs.tables`."""
