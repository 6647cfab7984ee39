"""Reports about a project for a person: the status line, and the values of ``readmit today`` and of its page."""
