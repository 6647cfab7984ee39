"""readmit for the coding agent that a user already runs: its hooks, its settings, its memory files."""
