"""Writers whose clocks differ: among undated competing statements, the later in the log stands. On both stores."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readmit import Policy, Workspace
from tests.conftest import examples
from tests.scene import START, Clock

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = ("bob", "carol", "dave")
# An hour is as far as a clock may lag by default; a host that is ahead moves the log's moment by as much.
SKEWS = st.lists(st.integers(-86_400, 3_500), min_size=len(WRITERS), max_size=len(WRITERS))


class Write(NamedTuple):
    """A writer observes and records something about the slot; perhaps it revokes what stands, or supersedes it."""

    writer: int
    pause: int
    act: Literal["say", "revoke", "repeat", "undo"]


WRITES = st.lists(
    st.builds(
        Write,
        writer=st.integers(0, len(WRITERS) - 1),
        pause=st.integers(0, 30),
        act=st.sampled_from(["say", "say", "revoke", "repeat", "undo"]),
    ),
    min_size=1,
    max_size=8,
)


class Hosts:
    """One store, several hosts, and what must stand in the slot: what was said last, unless an act says otherwise."""

    def __init__(self, place: Path | str, skews: list[int]) -> None:
        self.clock = Clock()
        self.team = Workspace.open(place, name=secrets.token_hex(8), policy=Policy(), clock=self.clock)
        self.skews = [timedelta(seconds=skew) for skew in skews]
        self.true = START
        self.said: list[str] = []
        self.texts: dict[str, str] = {}
        self.stands: str | None = None
        self.team.oblige("Know the hotel", id="o", required=["hotel"], by="bob")

    def write(self, write: Write) -> None:
        self.true += timedelta(seconds=write.pause)
        self.clock.now = self.true + self.skews[write.writer]
        by = WRITERS[write.writer]
        if write.act == "revoke":
            if self.stands is not None:
                self.team.revoke(self.stands, by=by)
                self.stands = None
        elif write.act == "undo":
            # An explicit act: what was said before the last statement replaces it again.
            if self.stands is not None and len(self.said) > 1 and self.stands == self.said[-1]:
                before = self.said[-2]
                if self.texts[before] != self.texts[self.stands]:
                    self.team.supersede(self.stands, before, by=by)
                    self.stands = before
        else:
            name = f"h{len(self.said)}"
            repeated = write.act == "repeat" and self.said
            text = self.texts[self.said[-1]] if repeated else f"the hotel is {name}"
            source = self.team.observe(f"{text}, says {by} the {len(self.said)}th time", by=by)
            self.team.record(text, id=name, slot="hotel", sources=[source], by=by)
            self.said.append(name)
            self.texts[name] = text
            self.stands = name

    def handed(self) -> list[str]:
        """The texts that an agent is handed about the slot, at a host with a right clock, days later."""
        self.clock.now = self.true + timedelta(days=3)
        agent = self.team.agent("ann", role="planner", task="trip")
        agent.depart()
        returned = agent.come_back()
        assert self.team.returned(returned.id).replay().matches
        return [self.texts[name] for name in returned.items if name in self.texts]


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(skews=SKEWS, writes=WRITES)
def test_among_undated_statements_the_later_in_the_log_stands(
    place: Path | str, skews: list[int], writes: list[Write]
) -> None:
    hosts = Hosts(place, skews)
    with hosts.team:
        undone = False
        for write in writes:
            if undone and write.act == "undo":
                continue
            undone = undone or write.act == "undo"
            hosts.write(write)
        expected = [] if hosts.stands is None else [hosts.texts[hosts.stands]]
        assert hosts.handed() == expected
