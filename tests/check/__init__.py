"""Memory files of coding agents against real repositories."""

from __future__ import annotations
