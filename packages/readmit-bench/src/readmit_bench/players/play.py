"""Plays one episode with one memory system: sessions in, then what it finds for each question.

Run as ``python play.py FOLDER``. ``FOLDER/play.json`` says what to play, ``FOLDER/found.json`` is the outcome. Clock,
ids and hashes are fixed before the memory system is imported, so that a second play sends the same requests. The clock
stands at the moment of the session that is being remembered.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    Session = dict[str, Any]

START = datetime(2025, 1, 1, 12, tzinfo=UTC)
"""When the first session took place, if the data does not say."""


class Player(Protocol):
    """A memory system."""

    def prepare(self, sessions: Sequence[Session]) -> None:
        """Ask what can be asked before the first session is remembered."""
        ...

    def remember(self, session: Session, at: datetime) -> None:
        """Form memories from one session: ``turns`` with ``speaker`` and ``text``."""
        ...

    def search(self, query: str, limit: int) -> list[str]:
        """The texts of the memories that it finds, best first."""
        ...


def moments(sessions: Sequence[Session]) -> list[datetime]:
    """When each session took place: as the data says, else a day apart, never before an earlier session."""
    found: list[datetime] = []
    for session in sessions:
        after = found[-1] + timedelta(minutes=1) if found else START
        try:
            at = datetime.fromisoformat(session["at"])
        except ValueError:
            at = found[-1] + timedelta(days=1) if found else START
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        found.append(max(at, after) if found else at)
    return found


def main(folder: Path) -> None:
    """Play the episode of a folder, and write its answers there."""
    import time_machine

    given = json.loads((folder / "play.json").read_text())
    chance = random.Random(0)  # noqa: S311  # ids of memories, the same in every play
    uuid.uuid4 = lambda: uuid.UUID(int=chance.getrandbits(128), version=4)
    random.seed(0)
    times = moments(given["sessions"])
    with time_machine.travel(times[0] if times else START, tick=False) as clock:
        player: Player = importlib.import_module(given["player"]).opened(given, folder)
        player.prepare(given["sessions"])
        for session, at in zip(given["sessions"], times, strict=True):
            clock.move_to(at, tick=False)
            player.remember(session, at)
        found = [player.search(task, given["limit"]) for task in given["tasks"]]
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
