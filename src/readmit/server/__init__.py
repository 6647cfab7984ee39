"""HTTP server: the verbs of a workspace for callers with credentials, and pages for people."""

from __future__ import annotations

from readmit.server.caller import Caller, Credentials

__all__ = ["Caller", "Credentials"]
