"""Commands for the coding agents that a user already runs."""
