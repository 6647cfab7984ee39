"""The databases that a log lives in: SQLite files and PostgreSQL servers."""
