"""How the conformance tests open Memobase. At module level: a child process opens it by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from readmit.backends.memobase import Memobase
from readmit.models.embedders import Lexical
from readmit.records.canonical import digest

if TYPE_CHECKING:
    from pathlib import Path

    from readmit import Workspace

URL, KEY = "READMIT_MEMOBASE_URL", "READMIT_MEMOBASE_KEY"
"""Set by ``make test-memobase``; otherwise by a fixture, to the stand-in's."""


def open_memobase(team: Workspace, folder: Path) -> Memobase:
    # One server serves all tests, so each has users of its own.
    return Memobase.open(
        os.environ[URL],
        team.name,
        api_key=os.environ[KEY],
        ledger=team.log.sources,
        embedder=Lexical(),
        name=digest(str(folder))[:16],
    )
