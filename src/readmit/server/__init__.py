"""HTTP server: the verbs of a workspace for callers with credentials, and pages for people."""
