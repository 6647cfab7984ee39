"""Logs and witnesses for the tests: a log is a list of leaves and a key, a witness is a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from readmit.trust.merkle import consistency_proof, leaf_hash, node_hash, tree_hash
from readmit.trust.notes import LogCheckpoint, NoteKey, sign
from readmit.trust.private_keys import MemoryRing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIGNER = MemoryRing().generate()
ORIGIN = "readmit.example/trip"
KEY = NoteKey(ORIGIN, SIGNER.public)


class Log:
    """Leaves under one key. Two logs that share a beginning are a fork."""

    def __init__(self, *entries: str) -> None:
        self.entries = list(entries)

    def note(self, size: int | None = None) -> bytes:
        """A signed head, of the whole log or of its beginning."""
        leaves = self._leaves()[:size]
        return sign(LogCheckpoint(ORIGIN, len(leaves), tree_hash(leaves)).text, ORIGIN, SIGNER)

    def prove(self, old: int, new: int | None = None) -> list[bytes]:
        leaves = self._leaves()

        def node(level: int, index: int) -> bytes:
            if not level:
                return leaves[index]
            return node_hash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1))

        return consistency_proof(old, len(leaves) if new is None else new, node)

    def _leaves(self) -> list[bytes]:
        return [leaf_hash(entry.encode()) for entry in self.entries]


class Running(NamedTuple):
    """A witness that listens."""

    url: str
    key: NoteKey
    process: subprocess.Popen[str]


@contextmanager
def running(state: Path, *options: str, trust: str = KEY.vkey) -> Iterator[Running]:
    """A witness in a process of its own, on a free port."""
    words = ["witness", "--state", str(state), "--listen", "127.0.0.1:0", "--json", "--trust", trust, *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "readmit", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.communicate()
            text += line if line.strip() != "}" else "}\n"
        said = json.loads(text)
        yield Running(said["url"], NoteKey.from_vkey(said["key"]), process)
    finally:
        process.kill()
        process.communicate()
