"""The user's handles on a team's shared state: they delegate to the rooms below."""
