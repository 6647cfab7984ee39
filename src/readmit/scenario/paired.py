"""Static against readmit on the same stored records, backend by backend.

Paper, "Backend integration and paired evaluation": "Within each backend, Static and TRACE share the episode history and
pre-return memory formation. Static follows the ordinary retrieval path; TRACE restricts readmission using the admitted
work state." Here the history is a scenario. Every observation of it is formed once per backend as it happens, private
experiences too, and both arms ask the same questions of the same records.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from readmit.backends.admission import Ground, Standing
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Frontier, Obligation
from readmit.scenario.play import PlayClock, PlayedReturn, Player
from readmit.workspace.memory_handle import Memory
from readmit.workspace.workspace import DEFAULT_NAME, Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from readmit.backends.port import MemoryBackend
    from readmit.scenario.document import Scenario

    Opener = Callable[[Workspace, Path], MemoryBackend]

LIMIT = 5


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One record of a backend at one return."""

    standing: Standing
    text: str
    owner: str
    static: bool
    """Whether ordinary retrieval hands it over."""
    readmit: bool
    """Whether it comes back through the view."""


class PairedReturn(msgspec.Struct, frozen=True, kw_only=True):
    """One return on one backend, in both arms."""

    backend: str
    label: str
    principal: str
    decision: str
    """``admitted``, ``blocked`` or ``reset``."""
    questions: tuple[str, ...]
    records: tuple[Compared, ...]

    @property
    def static(self) -> tuple[Compared, ...]:
        return tuple(one for one in self.records if one.static)

    @property
    def readmit(self) -> tuple[Compared, ...]:
        return tuple(one for one in self.records if one.readmit)

    @property
    def withheld(self) -> tuple[Compared, ...]:
        """The items that Static hands over and readmit does not."""
        return tuple(one for one in self.records if one.static and not one.readmit)


def compare(
    scenario: Scenario,
    backends: Mapping[str, Opener],
    *,
    limit: int = LIMIT,
    verbatim: bool = True,
    watch: Callable[[], object] = lambda: None,
) -> tuple[PairedReturn, ...]:
    """Play a scenario once per backend and compare every return of it.

    ``limit`` is the number of records per question; ``verbatim`` stores texts unchanged instead of asking the backend's
    model.
    """
    return tuple(
        pair
        for name, opener in backends.items()
        for pair in _Comparison(scenario, name, limit=limit, verbatim=verbatim).run(opener, watch)
    )


class _Comparison:
    def __init__(self, scenario: Scenario, name: str, *, limit: int, verbatim: bool) -> None:
        self._scenario = scenario
        self._name = name
        self._limit = limit
        self._verbatim = verbatim
        self._formed = 0

    def run(self, opener: Opener, watch: Callable[[], object]) -> list[PairedReturn]:
        scenario, clock, pairs = self._scenario, PlayClock(self._scenario.clock), []
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="readmit-")))
            team = stack.enter_context(
                Workspace.open(
                    folder / "team.db", name=scenario.workspace or DEFAULT_NAME, clock=clock, keys=folder / "keys"
                )
            )
            if scenario.policy is not None:
                team.as_owner().admin.govern(scenario.policy)
            memory = Memory(team, opener(team, folder / "native"))
            stack.callback(memory.close)
            player, known = Player(team, clock), 0
            for number, step in enumerate(scenario.steps):
                player.play(step, f"$.steps[{number}]", number)
                watch()
                self._form(team, memory)
                if len(player.returns) > known:
                    known = len(player.returns)
                    pairs.append(self._pair(team, memory, list(player.returns.values())[-1]))
        return pairs

    def _form(self, team: Workspace, memory: Memory) -> None:
        for event in desk_of(team).log.tail(since=self._formed):
            if isinstance(event.payload, Evidence):
                memory.observe(event.digest, by=event.by, verbatim=self._verbatim)
            elif isinstance(event.payload, Experience):
                one = event.payload
                memory.form(one.text, sources=[one.bound_to], by=one.owner, owner=one.owner, verbatim=True)
        self._formed = team.epoch

    def _pair(self, team: Workspace, memory: Memory, returned: PlayedReturn) -> PairedReturn:
        request = returned.outcome.request
        reader = request.identity.principal
        seen = desk_of(team).log.seen(request.identity, until=request.epoch)
        owed = [event.payload.text for event in seen if isinstance(event.payload, Obligation | Frontier)]
        questions = tuple(owed) or (request.identity.task,)
        static = {
            hit.id for asked in questions for hit in memory.backend.search(asked, limit=self._limit, reader=reader)
        }
        through: set[str] = set()
        if returned.bundle is not None:
            handle = memory.returned(returned.bundle)
            through = {hit.id for asked in questions for hit in handle.search(asked, limit=self._limit)}
        ground = Ground(
            admitted=frozenset(item.id for item in returned.bundle.items) if returned.bundle else frozenset(),
            reader=reader,
            writers=frozenset(request.policy.evidence.writers),
            reasons={one.item: one.reasons for one in returned.dispositions},
        )
        standings = {one.record: one for one in memory.standings(ground)}
        return PairedReturn(
            backend=self._name,
            label=returned.label,
            principal=reader,
            decision=returned.outcome.kind,
            questions=questions,
            records=tuple(
                Compared(
                    standing=standings[record.id],
                    text=record.text,
                    owner=record.owner,
                    static=record.id in static,
                    readmit=record.id in through,
                )
                for record in memory.backend.records()
            ),
        )
