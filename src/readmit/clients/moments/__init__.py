"""The moments of a session: its start, before a prompt, before a compaction, and its end."""
