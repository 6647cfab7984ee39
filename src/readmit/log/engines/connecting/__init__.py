"""The way to a PostgreSQL server: its addresses, and statements that are sent to it."""
