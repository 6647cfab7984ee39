"""The team that a crash interrupts: one step of every sort, and what must hold of the file it leaves behind."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from readmit import Workspace
from readmit.errors import ExposureError, ReadmitError
from readmit.events import EventKind
from readmit.records.decisions import Returned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def prepare(path: Path | str, keys: Path | None = None) -> None:
    """A file with something to return to."""
    with Workspace.open(path, keys=keys) as team:
        source = team.observe("confirmed", by="bob")
        team.oblige("book it", id="o", required=["d"], critical=["d"], sources=[source], by="bob")
        team.progress("half way", id="f", obligation="o", sources=[source], by="bob")
        team.record("Sunrise is booked", id="h", supports=["d"], sources=[source], by="bob")
        for number in range(5):
            team.record(f"a remark {number}", id=f"m{number}", sources=[source], by="bob")
        ann = team.agent("ann", role="planner", task="trip")
        ann.remember("late check-in", bound_to="h", id="x")
        ann.depart(id="left")


def append(team: Workspace, name: str) -> str:
    team.record(f"statement {name}", id=name, by="bob", slot="s")
    return f"item:{name}"


def batch(team: Workspace, name: str) -> str:
    with team.batch():
        for part in range(4):
            team.record(f"statement {name} {part}", id=f"{name}.{part}", by="bob")
    return " ".join(f"item:{name}.{part}" for part in range(4))


def come_back(team: Workspace, name: str) -> str:
    team.agent("ann", role="planner", task="trip").come_back(id=name, checkpoint="left")
    return f"return:{name}"


def expose(team: Workspace, name: str) -> str:
    outcome = team.agent("ann", role="planner", task="trip").come_back(id=name, checkpoint="left")
    with contextlib.suppress(ExposureError):  # another process may have returned in between
        outcome.expose()
        return f"return:{name} expose:{name}"
    return f"return:{name}"


STEPS: dict[str, Callable[[Workspace, str], str]] = {
    "append": append,
    "batch": batch,
    "return": come_back,
    "expose": expose,
}


def verify(path: Path | str, acknowledged: Iterable[str] = (), keys: Path | None = None) -> Workspace:
    """Whatever happened to its writers, the file holds together. Returns it opened, for further questions."""
    team = Workspace.open(path, keys=keys)
    log = team._desk.log
    events = list(log.tail())
    assert [event.epoch for event in events] == list(range(1, log.head + 1))
    assert len({event.id for event in events}) == len(events)
    names = {event.id for event in events}
    assert [one for one in acknowledged if one not in names] == []

    rows = list(log.audit.rows())
    decided = [row.return_id for row in rows if row.kind == "decision"]
    returned = [event for event in events if event.kind is EventKind.RETURN]
    assert decided == [event.id.removeprefix("return:") for event in returned]
    assert len(set(decided)) == len(decided)
    for event in returned:
        assert isinstance(event.payload, Returned)
        # Committed on the very state it judged, and recomputed to the same bytes.
        assert event.payload.request.epoch == event.epoch - 1
        name = event.id.removeprefix("return:")
        assert team.returned(name).replay().matches
        stored = log.audit.decision(name)
        assert stored is not None
        assert (stored.envelope is not None) is (event.payload.kind == "admitted")
    exposures = [row.return_id for row in rows if row.kind == "exposure"]
    assert exposures == [event.id.removeprefix("expose:") for event in events if event.kind is EventKind.EXPOSE]
    for event in events:
        number, _, part = event.id.removeprefix("item:").partition(".")
        if part and event.id.startswith("item:"):
            assert {f"item:{number}.{one}" for one in range(4)} <= names, "half a batch"
    assert log.audit.last == len(rows)
    return team


def usable(team: Workspace, name: str) -> None:
    """After a crash, work goes on: nothing is locked, nothing is half there."""
    try:
        append(team, f"{name}-after")
        # Without naming the departure: a view that was exposed, and lost in the crash, does not stop a new return.
        outcome = team.agent("ann", role="planner", task="trip").come_back()
        assert outcome.admitted, outcome.reasons
        assert {item.id for item in outcome.expose().items} == {"o", "f", "h"}
    except ReadmitError as error:
        raise AssertionError(f"the file cannot be used after the crash: {error}") from error
