"""The audit: whether tampering shows, and its export."""

from __future__ import annotations
