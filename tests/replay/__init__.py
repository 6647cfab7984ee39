"""Stores of earlier releases: what they decided must come out the same."""

from __future__ import annotations
