"""Settings of a server: its store, and how much it does at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

Positive = Annotated[int, msgspec.Meta(ge=1)]


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The store that a server opens, and its limits."""

    store: str | Path
    """A file, or a ``postgresql://`` URL."""
    keys: str | Path | None = None
    """The folder of the signing keys, as for ``Workspace.open``."""
    threads: Positive = 16
    """Calls that run at once."""
    at_once: Positive = 4
    """Calls that run at once in one workspace."""
    waiting: Positive = 128
    """Calls that wait in one workspace. One more is answered with 503."""
    most_open: Positive = 100
    """Workspaces that are kept open. One more closes the one that was used longest ago."""
    largest_body: Positive = 8 << 20
    """Bytes of a request's body."""
    heartbeat: float = 15.0
    """Seconds after which a silent stream sends a comment, so that no proxy closes it."""
