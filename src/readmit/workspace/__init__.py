"""The user's handle on a team's shared state."""
