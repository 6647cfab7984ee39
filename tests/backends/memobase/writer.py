"""A process that forms chats in a bank, some into slots of its own and some into a slot that another one fills as well.

python -m tests.backends.memobase.writer FOLDER STATE
"""

from __future__ import annotations

import sys
from pathlib import Path

from readmit.memory import Memory
from readmit.testing.journey import Journey
from tests.backends.memobase.openers import open_memobase

CHATS = 6


def main(folder: str, state: str) -> None:
    """Form them all."""
    journey = Journey(Path(folder) / "team.db")
    memory = Memory(journey.team, open_memobase(journey.team, Path(folder)))
    for number in range(CHATS):
        memory.form(f"{state}/fact{number}: Only {state}, {number}.", sources=[journey.items[state]], by="scout")
        memory.form(f"shared/slot: Both, {state} {number}.", sources=[journey.items[state]], by="scout")
    memory.close()
    journey.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
