"""How the conformance tests open each backend. At module level: a child process opens them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.backends import Mem0, ScopedMem
from readmit.models import Lexical

if TYPE_CHECKING:
    from pathlib import Path

    from readmit import Workspace


def open_scopedmem(team: Workspace, folder: Path) -> ScopedMem:
    return ScopedMem(team._desk.log.memories, team.name, store=folder.name)


def open_scopedmem_with_embedder(team: Workspace, folder: Path) -> ScopedMem:
    return ScopedMem(team._desk.log.memories, team.name, store=folder.name, embedder=Lexical())


def open_mem0(team: Workspace, folder: Path) -> Mem0:
    return Mem0.open(folder, team.name, embedder=Lexical())
