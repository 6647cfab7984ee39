"""The command line, as a user runs it."""

from __future__ import annotations
