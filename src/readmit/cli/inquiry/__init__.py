"""Commands that look into a workspace, a past return or a file, and write no event."""
