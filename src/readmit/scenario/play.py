"""Play steps on a workspace, all or nothing.

A step that the workspace refuses ends the play: the error carries the path of the step, and of the field where
it is known, and the transaction around the play undoes everything before it.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.diagnosis.history import out_of_sight
from readmit.log.location import MEMORY, names
from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.kinds import names_in
from readmit.records.acts.operation import Approve, Decline
from readmit.records.base import nfc, utc
from readmit.records.error_types import ConflictError, ExposureError, ReadmitError, ScenarioError, UnknownError
from readmit.records.items import Item, Receipt
from readmit.records.verdicts import Pair, Verdict
from readmit.scenario import steps
from readmit.scenario.document import Scenario
from readmit.scenario.durations import duration
from readmit.workspace.workspace import DEFAULT_NAME, Workspace, desk_of
from readmit.writing.rights import check_evidence, item_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from readmit.records.decisions import Disposition
    from readmit.records.reasons import Reason
    from readmit.returning.expose import Bundle
    from readmit.workspace.return_handle import Return


class PlayClock:
    """The scenario's clock: fixed once a moment was given, else the machine's, plus the advanced time."""

    def __init__(self, start: datetime | None = None) -> None:
        self._moment = start
        self._passed = timedelta()

    def __call__(self) -> datetime:
        return (self._moment or datetime.now(UTC)) + self._passed

    def move(self, step: steps.ClockStep) -> None:
        if step.at is not None:
            self._moment, self._passed = utc(step.at, field="at"), timedelta()
        if step.advance is not None:
            self._passed += duration(step.advance, field="advance")


class PlayedReturn:
    """One return of a scenario, with its details for the operator."""

    def __init__(self, label: str, step: int, outcome: Return, dispositions: tuple[Disposition, ...]) -> None:
        self.label = label
        self.step = step
        self.outcome = outcome
        self.dispositions = dispositions
        """For every item in the workspace, including those the agent could not see."""
        self.why = outcome.why() if outcome.falls_short else None
        """Why it fell short, as of then."""
        self.bundle: Bundle | None = None
        self.refused: tuple[Reason, ...] = ()


class Play(msgspec.Struct, frozen=True):
    """A scenario that was played, its workspace still open."""

    scenario: Scenario
    workspace: Workspace
    returns: tuple[PlayedReturn, ...]


@contextmanager
def played(
    scenario: Scenario,
    path: str | Path = MEMORY,
    *,
    name: str | None = None,
    watch: Callable[[], object] = lambda: None,
) -> Iterator[Play]:
    """Play a scenario into a file, or in memory. If it cannot be played to its end, nothing is written."""
    name = name or scenario.workspace or DEFAULT_NAME
    if str(path) != MEMORY and not {name, nfc(name)}.intersection(names(path)):
        # Opening a workspace for the first time writes to disk, so a new one is tried out in memory first.
        with Workspace.open(name=name, clock=(clock := PlayClock(scenario.clock))) as rehearsal:
            _perform(scenario, rehearsal, clock, lambda: None)
    clock = PlayClock(scenario.clock)
    with Workspace.open(path, name=name, clock=clock) as workspace:
        yield Play(scenario, workspace, _perform(scenario, workspace, clock, watch))


def write_declared(workspace: Workspace, step: steps.DeclaredStep) -> Event:
    """Write an event whose kind says how people write it."""
    kind, payload = steps.event_of(step)
    # An answer has the id of what it answers.
    own = payload.waiting if isinstance(payload, Approve | Decline) else None
    desk = desk_of(workspace)
    return desk.log.event(desk.writer.write(kind, payload, by=step.by, id=step.id or own, at=step.at))


def write_steps(
    workspace: Workspace, written: Sequence[steps.Step], *, watch: Callable[[], object] = lambda: None
) -> list[str]:
    """Play steps that only write, as one act. Returns the id of each."""
    with desk_of(workspace).writer.act():
        player = Player(workspace)
        ids = []
        for number, step in enumerate(written):
            ids.append(player.play(step, f"$[{number}]"))
            watch()
        return ids


def _perform(
    scenario: Scenario, workspace: Workspace, clock: PlayClock, watch: Callable[[], object]
) -> tuple[PlayedReturn, ...]:
    with workspace.batch():
        if scenario.policy is not None and scenario.policy != workspace.admin.policy:
            workspace.as_owner().admin.govern(scenario.policy)
        player = Player(workspace, clock)
        for number, step in enumerate(scenario.steps):
            player.play(step, f"$.steps[{number}]", number)
            watch()
    return tuple(player.returns.values())


class Player:
    """Runs steps on one workspace, one after the other."""

    def __init__(self, workspace: Workspace, clock: PlayClock | None = None) -> None:
        self._workspace = workspace
        self._clock = clock or PlayClock()
        self._evidence: dict[str, str] = {}
        self.returns: dict[str, PlayedReturn] = {}

    def play(self, step: steps.Step, path: str, number: int = 0) -> str:
        """Run one step. Returns the id of what it wrote, if any."""
        try:
            self._check_items(step, path)
            done = self._decide(step, path, number) or self._write(step, path)
        except ScenarioError:
            raise
        except ReadmitError as error:
            field = ".id" if isinstance(error, ConflictError) and str(error).startswith("id ") else ""
            raise ScenarioError(f"{path}{field}: {error}") from error
        return done

    def _check_items(self, step: steps.Step, path: str) -> None:
        by = nfc(str(getattr(step, "by", None) or getattr(step, "principal", "")))
        for field, space in names_in(type(step)).items():
            if space != "item":
                continue
            value = getattr(step, field)
            named = {"": value} if isinstance(value, str) else {f"[{n}]": one for n, one in enumerate(value or ())}
            for place, item in named.items():
                if not self._is_known(item, by):
                    raise ScenarioError(f"{path}.{field}{place}: no item {item!r}; record it first")

    def _is_known(self, item: str, by: str) -> bool:
        try:
            return bool(item_for(desk_of(self._workspace).log, item, by, lambda: self._workspace.admin.policy))
        except UnknownError:
            return False

    def _decide(self, step: steps.Step, path: str, number: int) -> str:
        """Steps that a workspace does not write by itself."""
        match step:
            case steps.ClockStep():
                self._clock.move(step)
                return "clock"
            case steps.ReturnStep(label=label):
                label = label or f"return {len(self.returns) + 1}"
                if label in self.returns:
                    raise ScenarioError(f"{path}.as: {label!r} labels an earlier return; choose another label")
                agent = self._workspace.agent(step.principal, role=step.role, task=step.task)
                outcome = agent.come_back(purpose=step.purpose, checkpoint=step.checkpoint, id=step.id)
                self.returns[label] = PlayedReturn(label, number, outcome, self._dispositions(outcome))
                if step.expose and outcome.admitted:
                    self._expose(self.returns[label])
                return outcome.id
            case steps.ExposeStep(label=label) | steps.AcknowledgeStep(label=label):
                if label not in self.returns:
                    raise ScenarioError(f"{path}.return: no earlier return is labeled {label!r}")
                if isinstance(step, steps.AcknowledgeStep):
                    self.returns[label].outcome.acknowledge()
                else:
                    self._expose(self.returns[label])
                return self.returns[label].outcome.id
        return ""

    def _expose(self, returned: PlayedReturn) -> None:
        # Inside the play's batch; its bundles are returned only after the commit.
        try:
            returned.bundle = returned.outcome.expose(within_batch=True)
        except ExposureError as error:
            returned.refused = error.reasons

    def _dispositions(self, outcome: Return) -> tuple[Disposition, ...]:
        """For every item so far. A return that was refused as a whole judged no visible item."""
        found = {one.item: one for one in outcome.dispositions}
        who, epoch = outcome.request.identity, outcome.request.epoch
        items = [
            event.payload for event in desk_of(self._workspace).log.tail(until=epoch) if isinstance(event.payload, Item)
        ]
        fates = (found.get(item.id) or out_of_sight(desk_of(self._workspace).log, item, who) for item in items)
        return tuple(one for one in fates if one is not None)

    def _write(self, step: steps.Step, path: str) -> str:
        workspace = self._workspace
        match step:
            case steps.ObserveStep():
                digest = workspace.observe(**_fields(step))
                if step.id is not None:
                    self._evidence[step.id] = digest
                return digest
            case steps.RecordStep():
                return workspace.record(**self._item_fields(step, path))
            case steps.ObligeStep():
                return workspace.oblige(**self._item_fields(step, path))
            case steps.ProgressStep():
                return workspace.progress(**self._item_fields(step, path))
            case steps.DeclaredStep():
                return write_declared(workspace, step).name
            case steps.RememberStep() | steps.DepartStep():
                return self._agent(step)
        return str(self._lifecycle(step, path))

    def _lifecycle(self, step: steps.Step, path: str) -> int:
        fields = _fields(step)
        if isinstance(step, steps.SuspectStep | steps.JudgeStep):
            fields["evidence"] = self._digest(step.evidence, f"{path}.evidence", step.by)
        match step:
            case steps.SuspectStep():
                pair = Pair(item=fields.pop("item"), evidence=fields.pop("evidence"))
                return self._workspace.judge(pair, **fields)
            case steps.JudgeStep():
                pair = Pair(item=fields.pop("item"), evidence=fields.pop("evidence"))
                event = {name: fields.pop(name) for name in ("by", "id", "at") if name in fields}
                return self._workspace.judge(Verdict(pair=pair, **fields), **event)
            case steps.GovernStep():
                return self._workspace.admin.govern(**fields)
            case steps.OverruleStep(lasting=lasting):
                fields.pop("lasting", None)
                if lasting is not None:
                    fields["expires"] = duration(lasting, field="lasting")
                return self._workspace.admin.overrule(**fields)
        raise ScenarioError(f"{path}.do: not a step that can be played here")

    def _agent(self, step: steps.RememberStep | steps.DepartStep) -> str:
        agent = self._workspace.agent(step.principal, role=step.role, task=step.task)
        if isinstance(step, steps.RememberStep):
            return agent.remember(step.text, bound_to=step.bound_to, id=step.id)
        return agent.depart(id=step.id, epoch=step.epoch).id

    def _item_fields(self, step: steps.ItemStep, path: str) -> dict[str, Any]:
        fields = _fields(step)
        fields["sources"] = [self._digest(one, f"{path}.sources[{n}]", step.by) for n, one in enumerate(step.sources)]
        fields["receipts"] = [
            Receipt(evidence=self._digest(one.evidence, f"{path}.receipts[{n}].evidence", step.by), binds=one.binds)
            for n, one in enumerate(step.receipts)
        ]
        return fields

    def _digest(self, name: str, path: str, by: str) -> str:
        """Evidence by the id of the step that observed it, here or in an earlier play, or by its digest."""
        if name in self._evidence:
            return self._evidence[name]
        log = desk_of(self._workspace).log
        event = log.named(EventKind.OBSERVE, name)
        digest = name if event is None else event.digest
        try:
            check_evidence(log, digest, nfc(by), lambda: self._workspace.admin.policy)
        except UnknownError:
            raise ScenarioError(f"{path}: no evidence {name!r}; observe it in an earlier step") from None
        return digest


def _fields(step: steps.Step) -> dict[str, Any]:
    """A step's fields that are set, as the workspace's keyword arguments."""
    return {name: value for name, value in msgspec.structs.asdict(step).items() if value is not None}
