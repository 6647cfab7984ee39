"""The command line. ``main`` is the whole of it; libraries beyond click are imported by the command that needs them."""

from __future__ import annotations

from readmit.cli.app import main

__all__ = ["main"]
