"""Where a workspace lives: SQLite by default."""
