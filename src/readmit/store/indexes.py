"""The indexes over the log, written in the transaction that appends an event.

They answer who can see it, what it is about, which evidence it has, and where the workspace's own milestones are.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from readmit.records.evidence import Evidence
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.statements import kin_of
from readmit.store.audience import ANY, OBSERVATION, STATE, rows_of
from readmit.store.endings import Endings
from readmit.store.schema import SHIFT
from readmit.store.sql import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from readmit.records.drafts import Draft
    from readmit.records.kinds import DeclaredKind
    from readmit.store.audience import Row
    from readmit.store.endings import Ending
    from readmit.store.sql import Sql

INDEXES = {
    "name": ("id", "epoch"),
    "filed": ("digest", "epoch"),
    "audience": ("class", "task", "principal", "role", "epoch"),
    "about": ("item", "epoch"),
    "slot_item": ("task", "slot", "epoch"),
    "slot_reach": ("task", "slot", "principal", "role"),
    "binding": ("item", "evidence"),
    "milestone": ("kind", "key", "epoch"),
    "invalidation": ("by", "learnt", "epoch", "ended"),
    "term": ("name", "use"),
    "duty": ("by", "learnt", "epoch"),
    "kin": ("key", "epoch"),
    "holder": ("use", "name", "task", "readers", "epoch"),
}
"""Every index, with its columns besides the workspace's number."""
_BIND = "INSERT INTO binding SELECT ws, ?, epoch FROM filed WHERE ws = ? AND digest = ?"
SLOT, DEPENDENCY = "slot", "dependency"
_TERM = "INSERT INTO term VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_DUTY = "INSERT INTO duty VALUES (?, ?, ?, ?)"
_KIN = "INSERT INTO kin VALUES (?, ?, ?)"
_REACH = "INSERT INTO audience VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_REACH_ALL = """
    INSERT INTO audience SELECT ?, ?, ?, ?, ?, pos - ? FROM event WHERE pos >= ? AND pos <= ? ON CONFLICT DO NOTHING
"""


def stored_rows(sql: Sql, ws: int, index: str) -> Iterator[tuple[Any, ...]]:
    """The rows of one index for a workspace, page by page."""
    names = ", ".join(INDEXES[index])
    query = f"SELECT {names} FROM {index} WHERE ws = ? {{}} ORDER BY {names} LIMIT {PAGE}"
    rows = sql.execute(query.format(""), (ws,)).fetchall()
    after = query.format(f"AND ({names}) > ({', '.join('?' * len(INDEXES[index]))})")
    while rows:
        yield from rows
        rows = sql.execute(after, (ws, *rows[-1])).fetchall()


def terms_of(item: Item) -> list[tuple[str, str]]:
    """The names that an item defines, as slot or dependency. A private item defines none for other principals."""
    if item.scope.visibility == "private":
        return []
    slots = [] if item.slot is None else [(item.slot, SLOT)]
    return slots + [(name, DEPENDENCY) for name in item.supports]


def binds_others(item: Item) -> bool:
    """Whether it is an obligation of others than its author."""
    return isinstance(item, Obligation) and set(item.scope.principals) != {item.by}


class Indexes:
    """The indexes of one workspace."""

    def __init__(self, sql: Sql, ws: int, item: Callable[[str], Item]) -> None:
        self._sql = sql
        self._ws = ws
        self._item = item
        self._endings = Endings(sql, ws)
        self._checked: tuple[Draft, Ending] | None = None

    def ends(self, draft: Draft) -> int:
        """How much an event at the end of the log would end. If it is added next, this is not computed again."""
        ending = self._endings.of(draft.kind, draft.payload, draft.about)
        self._checked = draft, ending
        return ending.ends

    def add(self, epoch: int, draft: Draft, learnt: str) -> None:
        """Index one event. Its id, and the digest of an observation, are stored before it is accepted.

        ``learnt`` is the log's last moment, which no writer's clock sets back.
        """
        ws, sql, kind = self._ws, self._sql, draft.kind
        for touched in draft.about:
            sql.execute("INSERT INTO about VALUES (?, ?, ?)", (ws, touched, epoch))
        checked, self._checked = self._checked, None
        if checked is not None and checked[0] is draft:
            ending = checked[1]
        else:
            ending = self._endings.of(kind, draft.payload, draft.about)
        self._endings.file(epoch, draft.by, learnt, ending)
        match draft.payload:
            case Evidence() as evidence:
                self._reach(epoch, OBSERVATION, rows_of(evidence.scope))
            case Item() as item:
                self._add_item(epoch, item, learnt)
            case payload if kind.reaches is not None:
                self._reach(epoch, STATE, [kind.reaches(payload)])
                self._milestones(kind, payload, epoch)
            case _ if draft.about:
                self._reach(epoch, STATE, {row for touched in draft.about for row in self._reach_of(touched)})
            case payload:
                self._milestones(kind, payload, epoch)

    def _add_item(self, epoch: int, item: Item, learnt: str) -> None:
        for digest in {receipt.evidence for receipt in item.receipts}:
            self._sql.execute(_BIND, (epoch, self._ws, digest))
        for name, use in terms_of(item):
            self._sql.execute(_TERM, (self._ws, name, use))
        if binds_others(item):
            self._sql.execute(_DUTY, (self._ws, item.by, learnt, epoch))
        if (key := kin_of(item)) is not None:
            self._sql.execute(_KIN, (self._ws, key, epoch))
        self._reach(epoch, STATE, self._extend(epoch, item))

    def add_observations(self, first: int, drafts: Iterable[Draft]) -> None:
        """Index observations at consecutive epochs, grouped by audience."""
        ws, base = self._ws, self._ws << SHIFT
        scopes = [draft.payload.scope for draft in drafts if isinstance(draft.payload, Evidence)]
        for scope, run in groupby(scopes):
            last = first + len(list(run)) - 1
            if last == first:
                self._reach(first, OBSERVATION, rows_of(scope))
            else:
                for row in rows_of(scope):
                    self._sql.execute(_REACH_ALL, (ws, OBSERVATION, *row, base, base + first, base + last))
            first = last + 1

    def _extend(self, epoch: int, item: Item) -> set[Row]:
        """A new statement about a slot also reaches readers of an earlier one, which it may replace."""
        rows = set(rows_of(item.scope))
        if isinstance(item, Frontier):
            # Everyone who sees the obligation must learn that its frontier moved.
            rows |= self._reach_of(item.obligation)
        if item.slot is None:
            return rows
        task = item.scope.task or ANY
        self._sql.execute("INSERT INTO slot_item VALUES (?, ?, ?, ?)", (self._ws, task, item.slot, epoch))
        before = self._slot_reach(task, item.slot)
        self._sql.executemany(
            "INSERT INTO slot_reach VALUES (?, ?, ?, ?, ?)",
            [(self._ws, task, item.slot, principal, role) for _, principal, role in rows - before],
        )
        return rows | before

    def _slot_reach(self, task: str, slot: str) -> set[Row]:
        found = self._sql.execute(
            "SELECT principal, role FROM slot_reach WHERE ws = ? AND task = ? AND slot = ?", (self._ws, task, slot)
        )
        return {(task, principal, role) for principal, role in found}

    def _reach_of(self, item_id: str) -> set[Row]:
        item = self._item(item_id)
        rows = set(rows_of(item.scope))
        if item.slot is not None:
            rows |= self._slot_reach(item.scope.task or ANY, item.slot)
        return rows

    def _reach(self, epoch: int, kind: str, rows: Iterable[Row]) -> None:
        # One by one: there is seldom more than one, and executemany costs more to start than it saves.
        for row in rows:
            self._sql.execute(_REACH, (self._ws, kind, *row, epoch))

    def _milestones(self, kind: DeclaredKind, payload: object, epoch: int) -> None:
        for key in kind.belongs(payload):
            self._sql.execute("INSERT INTO milestone VALUES (?, ?, ?, ?)", (self._ws, str(kind), key, epoch))
