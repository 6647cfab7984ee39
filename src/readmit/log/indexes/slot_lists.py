"""The items of many slots of a task, proven, and kept between reads in the way of ``readmit.log.kept_events``."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import msgspec

from readmit.log.engines.sql import chunks
from readmit.log.tree.state_map import is_short_form, key_of

if TYPE_CHECKING:
    from readmit.log.event_rows import EventRows
    from readmit.records.acts.event import Event

_OF_TASK = " FROM slot_item WHERE ws = ? AND task = ?"
_COUNT = f"SELECT count(*) FROM (SELECT 1{_OF_TASK} LIMIT ?) AS few"
# An agent usually sees most of its task. Scanning this many rows costs as much as one index search.
_WALK = 3
_MOST_TASKS = 8
_MOST_SLOTS = 100_000


class _Proven(msgspec.Struct):
    """Slots of a task that hold no other items than those that a reader knew."""

    values: dict[str, bytes] = {}
    """The running digest of every slot of the task, by its key in the map."""
    slots: AbstractSet[str] = frozenset()
    epochs: AbstractSet[int] = frozenset()
    """Epochs of the slots' items."""

    def changed(self, values: dict[str, bytes]) -> AbstractSet[str]:
        """The slots whose digests have changed."""
        if not self.slots or values == self.values:
            return frozenset()
        found = values.keys() ^ self.values.keys()
        found |= {key for key, value in values.items() if self.values.get(key) != value}
        return {msgspec.json.decode(key)[-1] for key in found}


class KeptSlots:
    """The slots of a workspace, by task."""

    def __init__(self, rows: EventRows) -> None:
        self._rows = rows
        self._tasks: dict[str, _Proven] = {}

    def read(self, task: str, slots: AbstractSet[str], known: AbstractSet[int]) -> list[Event]:
        """The items recorded about some slots of a task, except at the epochs that are known."""
        rows = self._rows
        (count,) = rows.sql.execute(_COUNT, (rows.ws, task, _WALK * len(slots) + 1)).fetchone()
        is_most = count <= _WALK * len(slots)
        proven, kept = known & rows.known.keys(), self._tasks.pop(task, _Proven()) if is_most else _Proven()
        values = rows.commits.beginning_with(f"{key_of('slot', task)[:-1]},") if is_most else {}
        same = kept.slots - kept.changed(values) if kept.epochs <= proven else frozenset()
        keys = {slot: key_of("slot", task, slot) for slot in slots - same}
        apart = keys.values() if not is_most else [key for key in keys.values() if is_short_form(key)]
        # If the task has no slots, only those that do not lie with the others can be missing.
        asked = keys if count or values else {slot: key for slot, key in keys.items() if is_short_form(key)}
        lists = self._listed(task, asked.keys(), walk=count <= _WALK * len(asked))
        every = {epoch for epochs in lists.values() for epoch in epochs}
        found = rows.load(every - proven)
        signed = values | rows.commits.values(apart)
        rows.check_values({keys[slot]: epochs for slot, epochs in lists.items()}, signed, "what is known of a slot")
        if is_most and len(values) <= _MOST_SLOTS:
            # Read again: lists with an item that is not known, and those that do not lie with the others.
            again = {slot for slot, epochs in lists.items() if not proven.issuperset(epochs)} if found else set()
            again |= {slot for slot, key in keys.items() if is_short_form(key)} if apart else set()
            epochs = (every & proven) | (kept.epochs if same else frozenset())
            self._tasks[task] = _Proven(values, same | keys.keys() - again, epochs)
            if len(self._tasks) > _MOST_TASKS:
                del self._tasks[next(iter(self._tasks))]
        return [event for event in found if event.epoch not in known]

    def _listed(self, task: str, slots: AbstractSet[str], *, walk: bool) -> dict[str, list[int]]:
        """The epochs that the index holds for some slots, also for those without any."""
        sql, here = self._rows.sql, (self._rows.ws, task)
        lists: dict[str, list[int]] = {slot: [] for slot in slots}
        for marks, part in ((None, ()),) if walk else chunks(slots):
            within = "" if marks is None else f" AND slot IN ({marks})"
            query = f"SELECT slot, epoch{_OF_TASK}{within} ORDER BY slot, epoch"
            for slot, epoch in sql.execute(query, (*here, *part)).fetchall():
                if slot in lists:
                    lists[slot].append(epoch)
        return lists
