"""How the conformance tests open A-MEM. At module level: a child process opens it by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.backends import AMem
from readmit.models import Lexical

if TYPE_CHECKING:
    from pathlib import Path

    from readmit import Workspace


def open_amem(team: Workspace, folder: Path) -> AMem:
    return AMem.open(folder, team.name, embedder=Lexical(), name=folder.name)
