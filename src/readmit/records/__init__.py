"""Frozen value types, reason codes, errors, canonical bytes. Imports nothing else of readmit."""
