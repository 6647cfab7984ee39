"""How the conformance tests open Memobase. At module level: a child process opens it by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from readmit.backends import Memobase
from readmit.lab import digest
from readmit.models import Lexical

if TYPE_CHECKING:
    from pathlib import Path

    from readmit import Workspace
    from readmit.memory import Memory, ReturnedMemory
    from readmit.testing.journey import Journey

URL, KEY = "READMIT_MEMOBASE_URL", "READMIT_MEMOBASE_KEY"
"""Set by ``make test-memobase``; otherwise by a fixture, to the stand-in's."""
RUN = "READMIT_MEMOBASE_RUN"
"""Set by a fixture: a server outlives the run, and the next one may use the same folders."""


def open_memobase(team: Workspace, folder: Path, *, timeout: float = 60.0) -> Memobase:
    # One server serves all tests, so each has users of its own.
    return Memobase.open(
        os.environ[URL],
        team.name,
        api_key=os.environ[KEY],
        ledger=team._desk.log.sources,
        embedder=Lexical(),
        name=digest(f"{os.environ[RUN]} {folder}")[:16],
        timeout=timeout,
    )


def back(memory: Memory, journey: Journey) -> ReturnedMemory:
    """The memory of the agent that left and comes back."""
    return memory.returned(journey.walker.come_back().expose())


def native(memory: Memory, *, verbatim: bool = False) -> Any:
    """The client's own user behind the team's bank, created if missing."""
    backend = memory.backend
    assert isinstance(backend, Memobase)
    return backend.native.get_or_create_user(backend.user(verbatim=verbatim))
