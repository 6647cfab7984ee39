"""The indexes over the log, written in the transaction that appends an event.

They hold each event's audiences, subjects and evidence, and the positions of the workspace's milestones.

Counts the statements that an event ends, and keeps the last statement about a slot or an obligation.

An act counts for every item that it names, one's own included. An item counts for every statement of another
writer that it replaces in its slot, or as the frontier of its obligation: updating what one wrote oneself is ordinary
work. What no longer stands for another reason counts too, because an overruling may have brought it back.

What was stated last is in the signed map alone, as the epoch of an item and the digest of its body.
"""

from __future__ import annotations

import hashlib
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.log.engines.sql import PAGE, SHIFT, SqlSession, chunks
from readmit.log.indexes.seen_observations import AT_EPOCH, blocks, is_of, observed_key, observed_value, sought
from readmit.log.indexes.stated import (
    ANY,
    DEPENDENCY,
    ENDED,
    FRONTIER,
    OPENED,
    SLOT,
    STATE,
    TERM,
    LastStatements,
    Row,
    WriterTotals,
    rows_of,
)
from readmit.log.tree.state_map import is_remnant, key_of, keys_of
from readmit.records.acts.event import KeyChange, Link, Resolve
from readmit.records.canonical import SALT_BYTES, digest
from readmit.records.error_types import TamperedError
from readmit.records.evidence import Evidence
from readmit.records.items import Frontier, Item, Obligation, decode_item
from readmit.records.same_statement import kin_of, same_statement
from readmit.trust.commit_record import Bound, event_data, said_at
from readmit.trust.merkle import leaf_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from readmit.log.tree.commits import Commits
    from readmit.records.acts.draft import Draft
    from readmit.records.acts.kinds import DeclaredKind


_BODIES = "SELECT pos, body FROM event WHERE pos IN"


class Holding(NamedTuple):
    """The subject of an item: a slot or an obligation, on a task, for a use."""

    about: str
    name: str
    task: str
    readers: str


class Ending(NamedTuple):
    """How many things an event ends, and the place that it takes."""

    ends: int
    takes: Holding | None = None


_NOTHING = Ending(0)


class Endings:
    """Statements ended by the events of one workspace."""

    def __init__(self, sql: SqlSession, ws: int, commits: Commits) -> None:
        self._sql = sql
        self._base = ws << SHIFT
        self._commits = commits
        self._stated = LastStatements(commits)
        self._totals = WriterTotals(commits)

    def of(self, kind: DeclaredKind, payload: object, about: tuple[str, ...]) -> Ending:
        """Statements that an event at the end of the log ends."""
        match payload:
            case Item() as item:
                return self._of_item(item)
            case Resolve(keep=keep):
                return Ending(max(1, len(set(about).difference(keep))))
            case Link(withdrawn=True):
                return Ending(1)
        return Ending(max(1, len(about))) if kind.invalidates else _NOTHING

    def file(self, epoch: int, draft: Draft, learnt: str, ending: Ending) -> None:
        """Store the statements that an event ended, and the event as the last statement."""
        if ending.takes is not None:
            self._stated.state(*ending.takes, (epoch, bytes.fromhex(draft.digest)))
        if ending.ends:
            self._totals.add(ENDED, draft.by, epoch, learnt, ending.ends)

    def _of_item(self, item: Item) -> Ending:
        place = _place(item)
        if place is None:
            return _NOTHING
        held = self._held(place)
        # A repetition does not take over: otherwise its author could go on to replace "its own" statement.
        repeats = any(same_statement(other, item) and _place(other) == place for other in held)
        return Ending(sum(_replaces(item, other) for other in held), None if repeats else place)

    def _held(self, place: Holding) -> list[Item]:
        """The last statements about the same subject, on the same task or on every task."""
        about, name, task, _ = place
        every = self._stated.on(about, name, ANY)
        stated = [*every.last.values()]
        for one in [task] if task else self._stated.tasks(about, name, every.tasks):
            stated += self._stated.on(about, name, one).last.values()
        return self._items(stated)

    def _items(self, stated: Iterable[tuple[int, bytes]]) -> list[Item]:
        """The items at some epochs, compared with the digests of their bodies."""
        wanted = {self._base + epoch: digest_ for epoch, digest_ in stated}
        found: dict[int, bytes] = {}
        for marks, part in chunks(wanted):
            found |= dict(self._sql.execute(f"{_BODIES} ({marks})", part).fetchall())
        if wanted.keys() != found.keys() or not all(
            hashlib.sha256(body).digest() == wanted[pos] or is_remnant(self._commits, pos - self._base, body)
            for pos, body in found.items()
        ):
            raise TamperedError("what was stated last about a slot or a duty: an event was altered or removed")
        return [decode_item(body[SALT_BYTES:]) for body in found.values()]


def _place(item: Item) -> Holding | None:
    """The place in which an item replaces others. One without evidence replaces nothing."""
    if not item.receipts or isinstance(item, Obligation):
        return None
    scope = item.scope
    task = scope.task or ANY
    uses: tuple[Any, ...] = (scope.principals, item.purposes, item.applies_to)
    readers = digest(tuple(sorted(set(one)) for one in uses))[:32] if any(uses) else ANY
    if isinstance(item, Frontier):
        return Holding(FRONTIER, item.obligation, task, readers)
    return None if item.slot is None else Holding(TERM, item.slot, task, readers)


def _replaces(item: Item, other: Item) -> bool:
    """Whether an item ends another writer's statement for somebody other than its own author."""
    return (
        other.by != item.by
        and set(item.scope.principals) != {item.by}
        and _overlap(item.scope.principals, other.scope.principals)
        and _overlap(item.purposes, other.purposes)
        and _overlap(item.applies_to, other.applies_to)
        and not same_statement(item, other)
    )


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two lists of names, of which an empty one means everything, have something in common."""
    return not one or not other or not set(one).isdisjoint(other)


INDEXES = {
    "name": ("id", "epoch"),
    "filed": ("digest", "epoch"),
    "audience": ("class", "task", "principal", "role", "epoch"),
    "about": ("item", "epoch"),
    "slot_item": ("task", "slot", "epoch"),
    "binding": ("item", "evidence"),
    "milestone": ("kind", "key", "epoch"),
    "kin": ("key", "epoch"),
}
"""Every index, with its columns besides the workspace's number."""
_BIND = "INSERT INTO binding VALUES (?, ?, ?)"
_EVIDENCE = f"SELECT pos, id, kind, by, at, given, learnt, digest, signature FROM event WHERE {AT_EPOCH}"
_KIN = "INSERT INTO kin VALUES (?, ?, ?)"
_REACH = "INSERT INTO audience VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


def stored_rows(sql: SqlSession, ws: int, index: str, within: str = "") -> Iterator[list[tuple[Any, ...]]]:
    """The rows of one index for a workspace, in pages; only some of them if a condition is given."""
    names = ", ".join(INDEXES[index])
    query = f"SELECT {names} FROM {index} WHERE ws = ? {within} {{}} ORDER BY {names} LIMIT {PAGE}"
    rows = sql.execute(query.format(""), (ws,)).fetchall()
    after = query.format(f"AND ({names}) > ({', '.join('?' * len(INDEXES[index]))})")
    while rows:
        yield rows
        rows = sql.execute(after, (ws, *rows[-1])).fetchall()


def terms_of(item: Item) -> list[tuple[str, int]]:
    """The names that an item defines, as slot or dependency. A private item defines none for other principals."""
    if item.scope.visibility == "private":
        return []
    slots = [] if item.slot is None else [(item.slot, SLOT)]
    return slots + [(name, DEPENDENCY) for name in item.supports]


def binds_others(item: Item) -> bool:
    """Whether it is an obligation of others than its author."""
    return isinstance(item, Obligation) and set(item.scope.principals) != {item.by}


def audience_key(kind: str, row: Row) -> str:
    """State-map key of an audience's list of events."""
    return key_of("audience", kind, *row)


def name_key(draft: Draft) -> str:
    """State-map key of an event that is no observation; an item's is that of the events about it."""
    item = draft.payload
    if isinstance(item, Item) and draft.id == draft.kind.event_id(item.id):
        return key_of("about", item.id)
    return key_of("name", draft.id)


def carried_key(evidence: str) -> str:
    """The key of the items that are bound to a piece of evidence."""
    return key_of("carried", evidence)


def carried_leaf(event_id: str) -> bytes:
    """Content of an item in a running digest."""
    return sha256(b"\0" + event_id.encode()).digest()


def worked_key(by: str) -> str:
    """The key of the last event that shows a principal at work."""
    return key_of("worked", by)


def worked_value(epoch: int) -> bytes:
    """State-map value: the epoch, big-endian."""
    return epoch.to_bytes(8, "big")


class Indexes:
    """The indexes of one workspace."""

    def __init__(self, sql: SqlSession, ws: int, commits: Commits, item: Callable[[str], Item]) -> None:
        self._sql = sql
        self._ws = ws
        self._commits = commits
        self._item = item
        self._endings = Endings(sql, ws, commits)
        self._stated = LastStatements(commits)
        self._totals = WriterTotals(commits)
        self._checked: tuple[Draft, Ending] | None = None

    def ends(self, draft: Draft) -> int:
        """How much an event at the end of the log would end. If it is added next, this is not computed again."""
        ending = self._endings.of(draft.kind, draft.payload, draft.about)
        self._checked = draft, ending
        return ending.ends

    def bound(self, draft: Draft) -> dict[str, Bound]:
        """The evidence of a new item that is on the log, by digest. It must be there as the signed log has it."""
        found: dict[str, Bound] = {}
        if isinstance(draft.payload, Item):
            base = self._ws << SHIFT
            for digest in {receipt.evidence for receipt in draft.payload.receipts}:
                row = self._sql.execute(_EVIDENCE, (base, *sought(self._ws, digest))).fetchone()
                if row is not None and is_of(digest, row[7], row[1]):
                    pos, name, kind, by, at, given, learnt, stored, signature = row
                    data = event_data(pos - base, name, kind, by, at, given, learnt, stored, signature)
                    self._commits.check_event(pos - base, leaf_hash(data))
                    found[digest] = (pos - base, by, said_at(at, learnt, given))
        return found

    def add(self, epoch: int, draft: Draft, learnt: str, leaf: bytes, bound: Mapping[str, Bound]) -> None:
        """Index one event. Its id, and the digest of an observation, are stored before it is accepted.

        ``learnt`` is the log's last moment, which no writer's clock sets back.
        """
        ws, sql, kind, extend = self._ws, self._sql, draft.kind, self._commits.extend
        for touched in draft.about:
            sql.execute("INSERT INTO about VALUES (?, ?, ?)", (ws, touched, epoch))
            extend(key_of("about", touched), leaf)
        if not isinstance(draft.payload, Evidence | Item):
            extend(key_of("name", draft.id), leaf)
        if kind.is_work:
            self._commits.assign(worked_key(draft.by), worked_value(epoch))
        checked, self._checked = self._checked, None
        if checked is not None and checked[0] is draft:
            ending = checked[1]
        else:
            ending = self._endings.of(kind, draft.payload, draft.about)
        self._endings.file(epoch, draft, learnt, ending)
        match draft.payload:
            case Evidence() as evidence:
                self._observe(rows_of(evidence.scope), epoch, (leaf,))
            case Item() as item:
                for digest_, (evidence_epoch, _, _) in bound.items():
                    sql.execute(_BIND, (ws, epoch, evidence_epoch))
                    extend(carried_key(digest_), carried_leaf(draft.id))
                self._add_item(epoch, item, learnt, leaf)
                self._milestones(kind, item, epoch, leaf)
            case payload if kind.reaches is not None:
                self._reach(epoch, [kind.reaches(payload)], leaf)
                self._milestones(kind, payload, epoch, leaf)
            case payload if draft.about:
                reached = {row for touched in draft.about for row in self._reach_of(touched)}
                self._reach(epoch, reached, leaf)
                self._milestones(kind, payload, epoch, leaf)
            case payload:
                self._milestones(kind, payload, epoch, leaf)

    def _add_item(self, epoch: int, item: Item, learnt: str, leaf: bytes) -> None:
        for name, meaning in terms_of(item):
            self._stated.mean(name, meaning)
        if binds_others(item):
            self._totals.add(OPENED, item.by, epoch, learnt, 1)
        if (key := kin_of(item)) is not None:
            self._sql.execute(_KIN, (self._ws, key, epoch))
            self._commits.extend(key_of("kin", key), leaf)
        self._reach(epoch, self._extend(epoch, item, leaf), leaf)

    def add_observations(self, first: int, drafts: Iterable[Draft], leaves: Sequence[bytes]) -> None:
        """Index observations at consecutive epochs, grouped by audience."""
        start, entries = first, list(drafts)
        for by, epoch in {draft.by: epoch for epoch, draft in enumerate(entries, first)}.items():
            self._commits.assign(worked_key(by), worked_value(epoch))
        scopes = [draft.payload.scope for draft in entries if isinstance(draft.payload, Evidence)]
        for scope, run in groupby(scopes):
            last = first + len(list(run)) - 1
            for at, end in blocks(first, last):
                self._observe(rows_of(scope), at, leaves[at - start : end + 1 - start])
            first = last + 1

    def _observe(self, rows: Iterable[Row], first: int, leaves: Sequence[bytes]) -> None:
        """Let some audiences see observations at consecutive epochs of one block."""
        for row in rows:
            key = observed_key(row, first)
            self._commits.assign(key, observed_value(self._commits.value(key), first, leaves))

    def _extend(self, epoch: int, item: Item, leaf: bytes) -> set[Row]:
        """A new statement about a slot also reaches readers of an earlier one, which it may replace."""
        rows = set(rows_of(item.scope))
        if isinstance(item, Frontier):
            # Everyone who sees the obligation must learn that its frontier moved.
            rows |= self._reach_of(item.obligation)
        if item.slot is None:
            return rows
        task = item.scope.task or ANY
        self._sql.execute("INSERT INTO slot_item VALUES (?, ?, ?, ?)", (self._ws, task, item.slot, epoch))
        self._commits.extend(key_of("slot", task, item.slot), leaf)
        before = self._slot_reach(task, item.slot)
        if new := rows - before:
            self._stated.widen(item.slot, task, [(principal, role) for _, principal, role in before | new])
        return rows | before

    def _slot_reach(self, task: str, slot: str) -> set[Row]:
        return {(task, principal, role) for principal, role in self._stated.reach(slot, task)}

    def _reach_of(self, item_id: str) -> set[Row]:
        item = self._item(item_id)
        rows = set(rows_of(item.scope))
        if item.slot is not None:
            rows |= self._slot_reach(item.scope.task or ANY, item.slot)
        return rows

    def _reach(self, epoch: int, rows: Iterable[Row], leaf: bytes) -> None:
        # One by one: there is seldom more than one, and executemany costs more to start than it saves.
        for row in rows:
            self._sql.execute(_REACH, (self._ws, STATE, *row, epoch))
            self._commits.extend(audience_key(STATE, row), leaf)

    def _milestones(self, kind: DeclaredKind, payload: object, epoch: int, leaf: bytes) -> None:
        if isinstance(payload, KeyChange):
            self._commits.hand_over(payload)
        name, keys = str(kind), list(kind.belongs(payload))
        # Together: a look has thousands.
        self._commits.extend_each(keys_of("milestone", [(name, key) for key in keys]), leaf)
        self._sql.executemany(
            "INSERT INTO milestone VALUES (?, ?, ?, ?)", [(self._ws, name, key, epoch) for key in keys]
        )
