"""Where a key may be sent: to this machine, or over a connection that others cannot read."""

from __future__ import annotations

from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_local(url: str) -> bool:
    """Whether a URL names this machine."""
    return urlsplit(url).hostname in _LOOPBACK


def in_clear(url: str) -> bool:
    """Whether requests to a URL can be read on the network: plain http to another machine."""
    return urlsplit(url).scheme == "http" and not is_local(url)
