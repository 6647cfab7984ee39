"""The events of a log in order, page by page, each page proven to be what the signed tree of commits holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.log.engines.sql import PAGE
from readmit.log.event_rows import EVENT, EventRows
from readmit.records.error_types import TamperedError
from readmit.records.items import Item
from readmit.trust.commit_record import Commit
from readmit.trust.merkle import TreeBuilder, leaf_hash, tree_hash, verify_consistency

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.log.tree.commits import Commits
    from readmit.records.acts.event import Event

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
