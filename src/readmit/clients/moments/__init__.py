"""What happens at the moments of a session: at its start, before a prompt, before a compaction and at its end."""
