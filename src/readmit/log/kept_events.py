"""State events that this process has proven, kept between reads.

A list is kept with its running digest, which covers every event in order and the evidence of its items. The signed map
says which digest counts now. A read loads the rows after the kept ones, continues the digest and compares. So it uses
all and only what the newest head covers, whatever happened to the older rows since; a store that was swapped or rolled
back has other digests. A list that cannot be continued is read again in full.

The events of a log in order, page by page, each page proven to be what the signed tree of commits holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.log.engines.sql import PAGE
from readmit.log.event_rows import BOUND, COLUMNS, EVENT, EventRows
from readmit.log.indexes.index_rows import audience_key
from readmit.log.indexes.stated import STATE, Row
from readmit.log.tree.state_map import SHORT_FORM, check_value, key_of, running
from readmit.records.acts.event import Event, EventKind
from readmit.records.error_types import TamperedError
from readmit.records.items import Item
from readmit.records.snapshot import Sighting
from readmit.trust.commit_record import Commit
from readmit.trust.merkle import TreeBuilder, leaf_hash, tree_hash, verify_consistency

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from readmit.log.tree.commits import Commits


_REACHED = """
    FROM audience WHERE ws = ? AND class = ? AND task = ? AND principal = ? AND role = ? AND epoch > ?
"""
_EVENTS = f"""
    WITH reached AS MATERIALIZED (SELECT ? + epoch AS place {_REACHED})
    {COLUMNS} FROM reached JOIN event ON pos = place ORDER BY place
"""
_BEHIND = BOUND.format(f"SELECT epoch {_REACHED}")
_MOST_BYTES = 64 << 20
# Of an event with its item and evidence, beside their texts.
_EVENT_BYTES = 3_000


class ProvenList(msgspec.Struct):
    """The events visible to one audience, in order."""

    row: Row
    value: bytes = b""
    """The running digest over the events."""
    events: dict[int, Event] = {}
    """By epoch, as the leaves."""
    leaves: dict[int, bytes] = {}
    evidence: dict[str, Sighting] = {}
    """The evidence that items of the list are bound to, by digest."""
    size: int = 0
    """About how many bytes of memory it takes."""
    turn: int = -1
    """The transaction in which it was last read."""


class KeptLists:
    """The lists of some audiences of a workspace, least recently used first."""

    def __init__(self, rows: EventRows, *, most: int = _MOST_BYTES) -> None:
        """``most`` bytes of memory, about, are used for lists that are kept."""
        self._rows = rows
        self._most = most
        self._lists: dict[str, ProvenList] = {}

    @property
    def size(self) -> int:
        """About how many bytes of memory are used."""
        return sum(one.size for one in self._lists.values())

    def read(self, audiences: Iterable[Row], what: str) -> list[ProvenList]:
        """The events that some audiences can see, proven to be all and only what the signed log holds for them."""
        return self._read({audience_key(STATE, row): row for row in audiences}, what)

    def of_task(self, task: str) -> list[ProvenList] | None:
        """The events that all audiences of a task can see, proven; none if the list of one of them is not kept."""
        # A key that is too long to be written out has the beginning of the others.
        keys = self._rows.commits.beginning_with(f"{key_of('audience', STATE, task)[:-1]},"[:SHORT_FORM])
        if not keys.keys() <= self._lists.keys():
            return None
        return self._read({key: self._lists[key].row for key in keys}, "what is known of a slot")

    def _read(self, by_key: Mapping[str, Row], what: str) -> list[ProvenList]:
        # A list is kept again once it is proven.
        turn, values = self._rows.connection.turn, self._rows.commits.values(by_key)
        found: dict[str, ProvenList] = {}
        for key, row in by_key.items():
            kept = self._lists.pop(key, None)
            if kept is not None and kept.turn == turn and kept.value == values.get(key, b""):
                # Read in this transaction already.
                found[key] = kept
                continue
            found[key] = self._continued(kept, row)
            if found[key].value != values.get(key, b""):
                found[key] = self._continued(None, row)
                check_value(values.get(key, b""), found[key].value, what=what)
            found[key].turn = turn
            self._rows.known.update(found[key].leaves)
        self._keep(found)
        return list(found.values())

    def _continued(self, kept: ProvenList | None, row: Row) -> ProvenList:
        """A list with the events that follow in the store. They are not proven yet."""
        rows, made = self._rows, kept or ProvenList(row)
        last = next(reversed(made.events), 0)
        where = (rows.ws, STATE, *row, last)
        found = rows.sql.execute(_EVENTS, (rows.base, *where)).fetchall()
        if not found:
            return made
        if kept is not None and any(one[2] == str(EventKind.FORGET) for one in found):
            # What was forgotten is not kept in memory either.
            return self._continued(None, row)
        evidence = rows.sightings(rows.sql.execute(_BEHIND, (rows.base, rows.ws, *where)))
        leaves: list[bytes] = []
        for one in found:
            event = rows.event(one)
            leaf = rows.leaf(one, event, evidence, made.evidence)
            made.events[event.epoch], made.leaves[event.epoch] = event, leaf
            leaves.append(leaf)
        made.value = running(leaves, made.value)
        texts = sum(len(one[6]) for one in found) + sum(len(one.body) for one in evidence.values())
        made.size += texts + _EVENT_BYTES * len(found)
        return made

    def _keep(self, lists: Mapping[str, ProvenList]) -> None:
        self._lists |= lists
        room = self._most - self.size
        for key in list(self._lists) if room < 0 else ():
            room += self._lists.pop(key).size
            if room >= 0:
                break


def in_slots(lists: Iterable[ProvenList], slots: AbstractSet[str], known: AbstractSet[int]) -> list[Event]:
    """The items about some slots in lists of audiences, except at the epochs that are known."""
    found = {epoch: one.events[epoch] for one in lists for epoch in one.events.keys() - known}
    return [event for event in found.values() if isinstance(event.payload, Item) and event.payload.slot in slots]


def bound_to(events: Iterable[Event], evidence: Mapping[str, Sighting]) -> dict[str, Sighting]:
    """The evidence that was there when the items of some events were recorded."""
    found: dict[str, Sighting] = {}
    for event in events:
        if isinstance(event.payload, Item):
            for receipt in event.payload.receipts:
                one = evidence.get(receipt.evidence)
                if one is not None and one.epoch < event.epoch:
                    found[receipt.evidence] = one
    return found


_TAIL = EVENT + "WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?"
_decode = msgspec.json.Decoder(Commit).decode


def events(rows: EventRows, since: int, until: int) -> Iterator[Event]:
    """Every event after an epoch, up to another."""
    while since < until:
        # Page by page: a long read keeps neither the whole log in memory nor an old snapshot of the database open.
        with rows.connection.reading():
            page = _page(rows, since, until)
        yield from page
        since = page[-1].epoch


def _page(rows: EventRows, since: int, until: int) -> list[Event]:
    found = rows.sql.execute(_TAIL, (rows.base + since, rows.base + until, PAGE)).fetchall()
    page = [rows.event(row) for row in found]
    for expected, event in enumerate(page, since + 1):
        if event.epoch != expected:
            raise TamperedError(f"event {expected} is not there: it was removed")
    if not page:
        raise TamperedError(f"the log ends at epoch {since}, but its head is {until}: events were removed")
    evidence = rows.behind(event.epoch for event in page if isinstance(event.payload, Item))
    leaves = [rows.leaf(row, event, evidence) for row, event in zip(found, page, strict=True)]
    # Beyond the head are the events of the open transaction.
    last = rows.commits.head().commit.epoch
    signed, ahead = max(0, last - since), max(0, since - last)
    if signed:
        _check(rows.commits, since + 1, leaves[:signed])
    if leaves[signed:] != rows.connection.changes.leaves[ahead : ahead + len(leaves[signed:])]:
        raise _altered(since + signed + 1)
    return page


def _check(commits: Commits, first: int, leaves: Sequence[bytes]) -> None:
    """Refuse leaves that are not those of the committed events from an epoch on."""
    last = first + len(leaves) - 1
    at = _check_within(commits, first, first, leaves)
    number = commits.containing(first)[0].number
    tree = TreeBuilder(commits.frontier(number))
    for body in commits.records(since=number):
        if at > last or (commit := _decode(body)).epoch > last:
            break
        tree.push(leaf_hash(body))
        if tree_hash(leaves[at - first : commit.epoch + 1 - first]).hex() != commit.events:
            raise _altered(at)
        at = commit.epoch + 1
    head = commits.head().tree
    if not verify_consistency(tree.size, tree.frontier.root, *head, commits.consistency(tree.size, head.size)):
        raise TamperedError(f"a commit after {number} is not the one under the signed checkpoint: it was altered")
    if at <= last:
        _check_within(commits, at, first, leaves)


def _check_within(commits: Commits, epoch: int, first: int, leaves: Sequence[bytes]) -> int:
    """Compare the leaves of one commit, from an epoch on. Returns the epoch after it."""
    commit, start, known = commits.leaves_of(epoch)
    found = leaves[epoch - first : commit.epoch + 1 - first]
    if list(found) != known[epoch - start :][: len(found)]:
        raise _altered(epoch)
    return commit.epoch + 1


def _altered(epoch: int) -> TamperedError:
    return TamperedError(f"event {epoch} or one after it is not the one under the signed checkpoint: it was altered")
