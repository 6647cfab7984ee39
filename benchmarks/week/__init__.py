"""A week in a life of a repository: the stale lines in the first request of a session, with and without readmit."""
