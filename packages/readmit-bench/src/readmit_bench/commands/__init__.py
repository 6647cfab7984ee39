"""The commands that this package adds to the command line: `readmit bench` and `readmit eval`."""
