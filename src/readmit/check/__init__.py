"""Checks memory files of coding agents against the working tree: which of their statements no longer hold."""

from __future__ import annotations
