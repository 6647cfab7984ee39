"""Commands that play a scenario."""
