"""The HTTP server: the verbs of a workspace behind credentials, with pages for people."""
