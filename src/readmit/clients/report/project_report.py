"""Gathers the report of a project from its log: what stands, what fell and why, what waits, and who was here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.clients.agent_tools.view_tools import SETTLE_DRAFT
from readmit.clients.memory_import import imported_lines
from readmit.diagnosis.cause_words import sentence
from readmit.diagnosis.item_states import read_items
from readmit.pages.gather_waits import waiting_lines
from readmit.pages.project_values import FallenLine, ProjectReport, RememberedLine, SessionLine
from readmit.records.acts.event import Checkpoint
from readmit.records.acts.operation import Exposed
from readmit.records.decisions import Returned
from readmit.records.evidence import Evidence
from readmit.records.probes import FileProbe
from readmit.records.reasons import Reason, State
from readmit.state.past_returns import decision_of
from readmit.text.escapes import shorten_digests
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.clients.project import Project
    from readmit.diagnosis.item_states import Listing
    from readmit.log.log import Log
    from readmit.records.decisions import Cause
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.workspace.workspace import Workspace

_REPLACED = frozenset({Reason.SUPERSEDED, Reason.SLOT_UPDATED, Reason.SLOT_CONTESTED, Reason.FRONTIER_MOVED})
_NEVER = frozenset({State.UNPROVEN, State.TOO_LARGE, State.NOT_YET_VALID})
"""States of items that never stood."""
_MOST_SESSIONS = 50


def project_report(workspace: Workspace, project: Project) -> ProjectReport:
    """A report of what the agents of a checkout remember, for the person whose agents they are."""
    log, writer = desk_of(workspace).log, desk_of(workspace).writer
    with log.reading():
        listing = read_items(log, workspace.admin.policy, writer.now())
        return _Report(log, project, listing).values(writer.clock())


class _Report:
    """A listing of all items, seen from one checkout."""

    def __init__(self, log: Log, project: Project, listing: Listing) -> None:
        self._log = log
        self._project = project
        self._listing = listing
        self._here = {name: one for name, one in listing.items.items() if one.item.scope.task in {None, project.task}}
        self._lines = imported_lines(project)

    def values(self, now: object) -> ProjectReport:
        fell = sorted(self._fell(), key=lambda one: (one.epoch, one.id), reverse=True)
        return ProjectReport(
            checkout=str(self._project.worktree),
            task=self._project.task,
            store=str(self._project.store),
            made=now,  # type: ignore[arg-type]  # a moment, from the writer's clock
            remembered=tuple(self._remembered()),
            fell=tuple(fell),
            waits=tuple(waiting_lines(self._log, self._here, settle_draft=SETTLE_DRAFT)),
            sessions=tuple(self._sessions()),
            elsewhere=sum(one.state is None for name, one in self._listing.items.items() if name not in self._here),
        )

    def _remembered(self) -> Iterator[RememberedLine]:
        for name, one in self._here.items():
            if one.state is None:
                yield RememberedLine(id=name, text=one.item.text, by=one.item.by, where=self._where(one.item))

    def _fell(self) -> Iterator[FallenLine]:
        for name, one in self._here.items():
            if one.state is None or one.state in _NEVER or one.state is State.DISPUTED:
                continue
            cause = max(one.causes, key=lambda cause: cause.epoch or 0)
            yield FallenLine(
                id=name,
                text=one.item.text,
                by=one.item.by,
                where=self._where(one.item),
                state=str(one.state),
                epoch=cause.epoch or one.epoch,
                at=None if cause.epoch is None else self._log.event(cause.epoch).learnt,
                why=" ".join(shorten_digests(sentence(each)) for each in one.causes),
                instead=self._instead(one.causes),
            )

    def _instead(self, causes: Iterable[Cause]) -> str:
        """The present text at the place of a fallen statement."""
        for cause in causes:
            if cause.reason in _REPLACED and cause.ref in self._listing.items:
                return self._listing.items[cause.ref].item.text
            if cause.reason is Reason.SOURCE_CHANGED and self._log.evidence_id(cause.ref):
                found = self._log.evidence(cause.ref).payload
                return found.text if isinstance(found, Evidence) else ""
        return ""

    def _where(self, item: Item) -> str:
        if item.id in self._lines:
            path, line = self._lines[item.id]
            return f"{self._below(path)}:{line.first}"
        for receipt in item.receipts:
            seen = self._log.evidence(receipt.evidence).payload if self._log.evidence_id(receipt.evidence) else None
            if isinstance(seen, Evidence) and isinstance(probe := seen.probe, FileProbe):
                return f"{self._below(probe.path)}:{probe.first}" if probe.first else self._below(probe.path)
        return ""

    def _below(self, path: str) -> str:
        return path.removeprefix(f"{self._project.worktree}/")

    def _sessions(self) -> list[SessionLine]:
        found: dict[str, SessionLine] = {}
        asked: dict[str, Identity] = {}
        for event in self._log.tail():
            match event.payload:
                case Returned(request=request) if request.identity.task == self._project.task:
                    asked[request.return_id] = request.identity
                case Exposed(return_id=name, refused=()) if name in asked:
                    decision = decision_of(self._log, name, self._log.returned(name))
                    gone = decision.retractions
                    found[asked[name].principal] = SessionLine(
                        name=asked[name].principal,
                        at=event.learnt,
                        left=False,
                        handed=0 if decision.view is None else len(decision.view.items),
                        withdrawn=len(gone.listed) + gone.more,
                    )
                case Checkpoint(identity=who) if who.principal in found and who.task == self._project.task:
                    before = found[who.principal]
                    found[who.principal] = SessionLine(
                        name=before.name, at=event.learnt, left=True, handed=before.handed, withdrawn=before.withdrawn
                    )
        return sorted(found.values(), key=lambda one: one.at, reverse=True)[:_MOST_SESSIONS]
