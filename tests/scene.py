"""A small team for tests: a clock that moves only when the test moves it, one source, one agent."""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

from readmit import Answer, Pair, Policy, Reason, Return, Verdict, Workspace
from readmit.diagnosis.verification.audit_check import AuditReport, audit
from readmit.events import EventKind
from readmit.log.engines.sqlite_schema import APPEND_ONLY_TABLES
from readmit.log.indexes.index_rows import stored_rows
from readmit.log.indexes.proven_lists import KeptSlots
from readmit.log.kept_events import KeptLists
from readmit.state.absence import role_of
from readmit.types import Checkpoint
from tests.postgres import on_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.types import Cause, Disposition

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
STANDING = {"admitted", "not_needed", "withheld"}
"""States of items that are eligible."""


def place() -> str:
    """Where a team lives that says nothing of it. Tests of a scene are run on every kind of store (``conftest``)."""
    return ":memory:"


def open_team(path: Path | str, **how: Any) -> Workspace:
    """Open the workspace of a scene: in its store, or on a server over it (``conftest``)."""
    return Workspace.open(path, **how)


class Clock:
    """A clock that the test moves, or that ticks at each reading, so that equal stories have equal times.

    It holds no reference to its scene, so that a finished scene frees its store.
    """

    def __init__(self, now: datetime = START, *, tick: timedelta = timedelta(0)) -> None:
        self.now = now
        self._tick = tick

    def __call__(self) -> datetime:
        self.now += self._tick
        return self.now


class Scene:
    """Bob keeps the shared state; ann is the planner who leaves and returns; the boss oversees."""

    def __init__(self, path: Path | str | None = None, *, name: str = "default", **policy: Any) -> None:
        self.clock = Clock()
        self.path = path = place() if path is None else path
        # Nothing beside what a duty needs, so that a story about one item is about that item alone.
        rules = Policy(evidence={"overseers": ("boss",)}, returns={"fill": "never"}).changed(**policy)
        self.team = open_team(path, name=name, policy=rules, clock=self.clock)
        self.source = self.team.observe("The hotel and the train confirm.", by="bob")
        self.outcome: Return | None = None
        self.keeps = False

    @property
    def now(self) -> datetime:
        return self.clock.now

    @now.setter
    def now(self, now: datetime) -> None:
        self.clock.now = now

    def ann(self, role: str = "planner", task: str = "trip") -> Any:
        return self.team.agent("ann", role=role, task=task)

    def fact(self, id: str, **fields: Any) -> str:
        """A sourced statement, unless the test says otherwise."""
        fields.setdefault("sources", [self.source])
        fields.setdefault("by", "bob")
        return self.team.record(fields.pop("text", f"the text of {id}"), id=id, **fields)

    def duty(self, id: str = "o", required: tuple[str, ...] = ("d",), **fields: Any) -> str:
        fields.setdefault("sources", [self.source])
        return self.team.oblige(f"the text of {id}", id=id, by="bob", required=required, **fields)

    def frontier(self, id: str = "f", obligation: str = "o", **fields: Any) -> str:
        fields.setdefault("sources", [self.source])
        fields.setdefault("by", "bob")
        return self.team.progress(f"the text of {id}", id=id, obligation=obligation, **fields)

    def news(self, text: str = "The hotel has closed.") -> str:
        return self.team.observe(text, by="bob")

    def verdict(self, item: str, evidence: str, answer: str = "invalidates", **said: Any) -> None:
        usual: dict[str, Any] = {"confidence": Decimal(1), "item_quote": "the text", "evidence_quote": "hotel"}
        verdict = Verdict(pair=Pair(item=item, evidence=evidence), answer=Answer(answer), **(usual | said))
        self.team.judge(verdict, by="worker")

    def covered(self, **fields: Any) -> None:
        """A duty and the one fact that supplies it."""
        self.duty()
        self.fact("h", supports=["d"], **fields)

    def depart(self, role: str = "planner", **fields: Any) -> None:
        self.ann(role).depart(**fields)

    def wait(self, time: timedelta) -> None:
        self.now += time

    def come_back(self, role: str = "planner", **fields: Any) -> Return:
        left = self.team._desk.log.latest(EventKind.DEPART, self.ann(role).identity.agent)
        if left is not None and isinstance(left.payload, Checkpoint):
            was = role_of(self.team._desk.log, left.payload, self.ann(role).identity)
            if was != role:
                self.team.as_owner().admin.reassign("ann", task="trip", was=was, role=role)
        self.outcome = self.ann(role).come_back(**fields)
        assert self.team.returned(self.outcome.id).replay().matches or self.outcome.reasons
        return self.outcome

    def away(self, role: str = "planner", **fields: Any) -> Return:
        """Leave and come back at once."""
        self.depart()
        return self.come_back(role, **fields)

    def disposition(self, item: str) -> Disposition:
        assert self.outcome is not None
        return next(one for one in self.outcome.dispositions if one.item == item)

    def reasons(self, item: str) -> tuple[Reason, ...]:
        return self.disposition(item).reasons

    def cause(self, item: str, reason: Reason) -> Cause:
        return next(one for one in self.disposition(item).causes if one.reason is reason)

    def forget(self) -> None:
        """As in a process that starts now: nothing that was proven is kept."""
        log: Any = self.team._desk.log
        log._kept, log._slots = KeptLists(log._rows), KeptSlots(log._rows)
        log.commits._row, log.commits._turn = None, -1

    def sql(self, statement: str, *values: Any) -> None:
        """A change by an attacker with write access to the database: no trigger stops it.

        What follows is as in a process that starts then, unless the scene keeps what it proved.
        """
        if not self.keeps:
            self.forget()
        connection: Any = self.team._desk.log.connection
        if on_server(self.path):
            with connection.atomic():
                for table in APPEND_ONLY_TABLES:
                    connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
                connection.execute(in_postgres(statement), values)
                for table in APPEND_ONLY_TABLES:
                    connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
            return
        with untriggered(connection.sql):
            connection.sql.execute(statement, values)


class SourcedScene(Scene):
    """A scene in which every fact and frontier rests on an observation of its own, made at the moment that is said."""

    def fact(self, id: str, *, said: timedelta | None = None, **fields: Any) -> str:
        text = fields.get("text", f"the text of {id}")
        at = None if said is None else START + said
        fields.setdefault("sources", [self.team.observe(f"seen for {id}: {text}", by="bob", at=at)])
        return super().fact(id, **fields)

    def frontier(self, id: str = "f", obligation: str = "o", **fields: Any) -> str:
        fields.setdefault("sources", [self.news(f"seen for {id}")])
        return super().frontier(id, obligation, **fields)

    def stand(self, **asked: Any) -> set[str]:
        """The items that stand for ann."""
        return {one.item for one in self.away(**asked).dispositions if one.state in STANDING}


def audited(team: Workspace, **how: Any) -> AuditReport:
    """The audit of a workspace, as ``readmit verify`` makes it."""
    return audit(team._desk.log, **how)


def indexed(log: Any, index: str) -> Iterator[tuple[Any, ...]]:
    """The stored rows of one index over a log, without the workspace's number."""
    return chain.from_iterable(stored_rows(log.connection.sql, log.ws, index))


@contextmanager
def untriggered(sql: Any) -> Iterator[None]:
    """A file without its triggers, which stop nobody who can drop them. They are put back: their absence would show."""
    triggers = sql.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        sql.execute(f"DROP TRIGGER {name}")
    yield
    for _, statement in triggers:
        sql.execute(statement)


def in_postgres(statement: str) -> str:
    """Tampering as PostgreSQL writes it: bytes are no text there, and those of an event begin with a salt."""
    text = r"('(?:[^']|'')*')"
    in_hex = r"encode(convert_to(\{}, 'UTF8'), 'hex')"
    changed = re.sub(
        rf"CAST\(replace\((\w+), {text}, {text}\) AS BLOB\)",
        rf"decode(replace(encode(\1, 'hex'), {in_hex.format(2)}, {in_hex.format(3)}), 'hex')",
        statement,
    )
    return re.sub(r"CAST\((.*) AS BLOB\)", r"convert_to(\1, 'UTF8')", changed)
