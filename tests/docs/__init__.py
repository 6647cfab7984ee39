"""The documentation as tests: every code block runs, every generated table is current."""
