"""A team whose sources are notes on a board: a prober that the test writes on, and counts the looks of."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from readmit import Policy, Workspace
from readmit.sources import Call, CallableProbe, Captured, Finding, ProbeResult
from tests import scene
from tests.scene import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit import Agent, Return
    from readmit.policies import LookRules
    from readmit.sources import Probe


class Board:
    """Notes by name. One that is None is out of sight; one that is not there is gone."""

    def __init__(self) -> None:
        self.notes: dict[str, str | None] = {}
        self.looks: list[str] = []
        self.limits: LookRules | None = None
        self.fails: Exception | None = None

    def __call__(self, limits: LookRules) -> Board:
        self.limits = limits
        return self

    def capture(self, place: Call) -> Captured:
        text = self.notes[place.name]
        assert text is not None
        probe = CallableProbe(name=place.name, digest=sha256(text.encode()).hexdigest(), lifetime=place.lifetime)
        return Captured(text, probe)

    def look(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        if self.fails is not None:
            raise self.fails
        return [self._look(probe) for probe in probes]

    def _look(self, probe: Probe) -> ProbeResult:
        assert isinstance(probe, CallableProbe)
        self.looks.append(probe.name)
        if probe.name not in self.notes:
            return ProbeResult(Finding.GONE, probe, why="the note was taken down")
        text = self.notes[probe.name]
        if text is None:
            return ProbeResult(Finding.UNSEEN, probe, why="somebody stands before it")
        now = CallableProbe(name=probe.name, digest=sha256(text.encode()).hexdigest(), lifetime=probe.lifetime)
        return ProbeResult(Finding.UNCHANGED, probe) if now == probe else ProbeResult(Finding.CHANGED, now, text)


class Team:
    """Bob reads notes off the board and records what they say; ann leaves and comes back."""

    def __init__(self, path: Path | str | None = None, **policy: Any) -> None:
        self.clock = Clock()
        self.board = Board()
        self.path = scene.place() if path is None else path
        rules = Policy(evidence={"overseers": ("boss",)}, returns={"fill": "nothing_owed"}).changed(**policy)
        self.team = Workspace.open(self.path, policy=rules, clock=self.clock, prober=self.board)  # type: ignore[arg-type]  # it is asked for nothing else

    @property
    def ann(self) -> Agent:
        return self.team.agent("ann", role="planner", task="trip")

    def note(self, name: str, text: str, **fields: Any) -> str:
        """Put up a note and observe it."""
        self.board.notes[name] = text
        place = Call(name, lifetime=fields.pop("lifetime", 0))
        return self.team.observe(probe=place, by=fields.pop("by", "bob"), **fields)

    def fact(self, id: str, text: str, *sources: str, **fields: Any) -> str:
        return self.team.record(text, id=id, sources=sources, by="bob", **fields)

    def duty(self, *required: str, critical: Sequence[str] = ()) -> str:
        return self.team.oblige("Plan the trip", id="o", by="bob", required=required, critical=critical)

    def back(self, **how: Any) -> Return:
        return self.ann.come_back(**how)
