"""Checks of a whole store: its log, audit, indexes, past returns, heads and backups."""
