"""A return from request to delivery: ask, load, look, decide, commit, expose."""
