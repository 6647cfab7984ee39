"""Erases contents from a store: events, what models derived, memory records, and the keys that were made of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.log.engines.sql import SHIFT
from readmit.log.tree.state_map import key_of, remnant_body, remnant_key, remnant_value
from readmit.records.items import Frontier, Item
from readmit.records.same_statement import kin_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.log.log import Log
    from readmit.records.acts.event import Event

_BACKENDS = "SELECT DISTINCT backend FROM source WHERE ws = ?"
_STORES = "SELECT DISTINCT store FROM memory_version WHERE ws = ? AND id = ?"
_KIN = "SELECT epoch FROM kin WHERE ws = ? AND key = ?"


def erase(log: Log, erased: Mapping[int, object], events: Iterable[Event]) -> None:
    """Put remnants in the place of contents, within the open transaction. ``events`` are those as they were.

    What was derived from any text goes too: its keys are digests of one text or of several, so each of them could
    confirm a guess of the erased one.
    """
    _put_remnants(log, erased)
    for event in events:
        if isinstance(event.payload, Item) and not isinstance(event.payload, Frontier):
            _erase_kin(log, event.payload, erased)
    log.derived.forget()
    log.renew_name_key()
    log.commits.erase_keys()


def erase_expired(log: Log, erased: Mapping[int, object]) -> None:
    """Put remnants in the place of observations that nothing rests on, within the open transaction.

    No index key was made of their texts. If something was derived from any text, all of it goes, as in ``erase``; if
    not, the map stays as it is, which for a long log takes seconds less.
    """
    _put_remnants(log, erased)
    log.renew_name_key()
    if log.derived.forget():
        log.commits.erase_keys()


def _put_remnants(log: Log, erased: Mapping[int, object]) -> None:
    connection = log.connection
    bodies = {epoch: remnant_body(payload) for epoch, payload in erased.items()}
    with connection.rewriting("event"):
        for epoch, body in bodies.items():
            connection.sql.execute("UPDATE event SET body = ? WHERE pos = ?", (body, (log.ws << SHIFT) + epoch))
            log.commits.assign(remnant_key(epoch), remnant_value(body))


def _erase_kin(log: Log, item: Item, erased: Mapping[int, object]) -> None:
    """Erase the index key that was made of an item's text, unless another item still makes the same statement."""
    key, sql = kin_of(item), log.connection.sql
    if key is not None and all(epoch in erased for (epoch,) in sql.execute(_KIN, (log.ws, key)).fetchall()):
        sql.execute("DELETE FROM kin WHERE ws = ? AND key = ?", (log.ws, key))
        log.commits.assign(key_of("kin", key), b"")


def erase_memory(log: Log, refs: frozenset[str], at: str) -> tuple[str, ...]:
    """Erase the records of the reference memory store that were formed from some items and evidence.

    Returns the records of other stores, as ``backend/record``: readmit does not hold their texts.
    """
    elsewhere, sql = [], log.connection.sql
    for (backend,) in sql.execute(_BACKENDS, (log.ws,)).fetchall():
        formed = [
            name
            for name, entry in log.sources.entries(backend).items()
            if any(binding.ref in refs for binding in entry.bindings)
        ]
        for record in formed:
            stores = sql.execute(_STORES, (log.ws, record)).fetchall()
            for (store,) in stores:
                log.memories.remove(store, record, at, purge=True)
            elsewhere += [] if stores else [f"{backend}/{record}"]
        if formed:
            log.sources.write(backend, (), drop=formed)
    return tuple(elsewhere)
