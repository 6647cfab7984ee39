"""The tools that a coding agent itself has, over MCP: remember, recall, what_changed, why, settle and depart."""
