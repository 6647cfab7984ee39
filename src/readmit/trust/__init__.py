"""The Return View as a signed statement: issue, sign, open, recheck, render; keys and whom to trust."""
