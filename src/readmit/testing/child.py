"""A process that opens a backend, forms one memory, prints that it did, and waits to be killed.

python -m readmit.testing.child MODULE:FUNCTION DATABASE FOLDER [unbound]

With ``unbound`` it is killed in the middle of a write: the store has the record, and its sources are not filed yet.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

from readmit.backends.bound_writes import BoundBackend
from readmit.backends.port import Material
from readmit.testing.journey import KNOWN, Journey
from readmit.workspace.memory_handle import Memory
from readmit.workspace.workspace import desk_of


def form_and_wait(opener: str, database: str, folder: str, unbound: str = "") -> None:
    """Open, form, print, wait."""
    module, _, name = opener.partition(":")
    journey = Journey(Path(database))
    memory = Memory(journey.team, getattr(importlib.import_module(module), name)(journey.team, Path(folder)))
    text = KNOWN["valid"][1]
    if unbound:
        with BoundBackend(memory.backend, desk_of(journey.team).log.sources).alone():
            (change,) = memory.backend.form(Material(text=text, key="k", verbatim=True))
            _wait(change.record.id)
    (record,) = memory.form(text, sources=[journey.items["valid"]], by="scout", verbatim=True)
    _wait(record)


def _wait(record: str) -> None:
    sys.stdout.write(f"{record}\n")
    sys.stdout.flush()
    time.sleep(600)


if __name__ == "__main__":
    form_and_wait(*sys.argv[1:])
