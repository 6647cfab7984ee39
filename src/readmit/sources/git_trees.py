"""Trees of git repositories, read from their bytes, and the limits of what a look remembers of them.

A tree may hold a name of any length, and a few of them stand for paths without end.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from readmit.records.error_types import ProbeError

MOST_NAMES = 200_000
"""How many names of trees are remembered during a look, or compared."""
MOST_BYTES = 32 << 20
"""Bytes of the trees that are remembered during a look, or of the paths that are compared."""
_LONGEST_NAME = 4_096
"""Bytes of a name with its mode. No file system takes a longer path."""


class TreeEntry(NamedTuple):
    """Mode and object of a name in a git tree."""

    mode: bytes
    object: str


Tree: TypeAlias = dict[bytes, TreeEntry]


class KnownTrees:
    """The trees that a look read last, of all its repositories: so many names and bytes at most, or one tree."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Tree] = {}
        self._names = self._bytes = 0

    def get(self, repository: str, tree: str) -> Tree | None:
        return self._known.get((repository, tree))

    def keep(self, repository: str, tree: str, data: bytes) -> Tree:
        entries = _parsed(data, len(tree) // 2)
        self._names, self._bytes = self._names + len(entries), self._bytes + len(data)
        if self._names > MOST_NAMES or self._bytes > MOST_BYTES:
            self._known.clear()
            self._names, self._bytes = len(entries), len(data)
        self._known[repository, tree] = entries
        return entries


def _parsed(tree: bytes, length: int) -> Tree:
    """The entries of a git tree by name."""
    entries: Tree = {}
    start = 0
    while start < len(tree):
        end = tree.find(b"\0", start)
        if end < 0:
            raise ProbeError("the repository may be damaged: a tree cannot be read")
        if end - start > _LONGEST_NAME:
            raise ProbeError("a folder of the repository holds a name that no file system takes")
        mode, _, name = tree[start:end].partition(b" ")
        start = end + 1 + length
        entries[name] = TreeEntry(mode, tree[end + 1 : start].hex())
    return entries
