"""Workspaces on a server: the table of verbs that server and clients share."""

from __future__ import annotations

from readmit.remote.verb_table import Verb, verbs

__all__ = ["Verb", "verbs"]
