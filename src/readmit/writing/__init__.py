"""One way into the log: every verb, its checks, limits, and what waits for an overseer."""
