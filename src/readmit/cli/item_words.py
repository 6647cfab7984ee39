"""Items in words: whether each stands or was handed over, and why. For the operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from readmit.cli.output import plain, shown, table
from readmit.diagnosis.history import chain, draft_in_words
from readmit.records.reasons import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.table import Table
    from rich.text import Text

    from readmit.diagnosis.listing import ListedItem
    from readmit.records.decisions import Cause, Disposition
    from readmit.records.identity import Identity
    from readmit.records.items import Drafted

DIGEST = re.compile(r"[0-9a-f]{64}")
_DIGEST_CHARS = 12
FIT = (State.ADMITTED, State.NOT_NEEDED, State.WITHHELD)
"""States of an item that every gate let through, handed over or not."""


def standing(one: ListedItem) -> str:
    """The state of an item, in one word."""
    return "stands" if one.state is None else str(one.state)


def listed_json(one: ListedItem) -> dict[str, Any]:
    """An item with its fields, its epoch, and why it does not stand."""
    said = {"epoch": one.epoch, "state": standing(one), "because": [cause_in_words(cause) for cause in one.causes]}
    return {**plain(one.item), **said}


def item_table(found: list[ListedItem]) -> Table:
    """Items, one to a row."""
    columns = ["item", "kind", "state", "slot", "text"]
    rows = [[one.item.id, str(one.item.kind), standing(one), one.item.slot or "", one.item.text] for one in found]
    if not any(one.item.slot for one in found):
        del columns[3]
        for row in rows:
            del row[3]
    return table(columns, rows, prose="text")


def item_lines(one: ListedItem) -> Iterator[str]:
    """An item in full, without its evidence and its history."""
    said = one.item
    yield f"{said.id}: {said.kind}, {standing(one)}"
    yield f"“{shown(said.text)}”"
    about = {
        "slot": said.slot,
        "task": said.scope.task,
        "supports": " ".join(said.supports),
        "depends on": " ".join(said.depends_on),
        "requires": " ".join(getattr(said, "required", ())),
        "critical": " ".join(getattr(said, "critical", ())),
        "obligation": getattr(said, "obligation", ""),
        "roles": " ".join(said.scope.roles),
        "principals": " ".join(said.scope.principals),
        "valid from": said.valid.start and said.valid.start.isoformat(),
        "valid until": said.valid.end and said.valid.end.isoformat(),
        "drafted by": said.drafted and said.drafted.model,
    }
    yield f"Written by {shown(said.by)} at epoch {one.epoch}"
    yield from (f"{name}: {shown(value)}" for name, value in about.items() if value)
    yield from (f"Does not stand: {cause_in_words(cause)}" for cause in one.causes)


def disposition_table(entries: Iterable[Disposition]) -> Table:
    """One row per candidate of a return."""
    from rich.text import Text

    styles = dict.fromkeys(FIT, "dim") | {State.ADMITTED: "green"}
    rows = [
        (one.item, Text(str(one.state), style=styles.get(one.state, "red")), Text("; ".join(_why(one))))
        for one in entries
    ]
    return table(("item", "state", "why"), rows, prose="why")


def _why(one: Disposition) -> Iterator[str]:
    causes = {cause.reason for cause in one.causes}
    yield from (str(reason) for reason in one.reasons if reason not in causes)
    yield from map(cause_in_words, one.causes)
    yield from (f"set aside by an overseer: {cause_in_words(cause)}" for cause in one.overruled)
    yield from (f"stands again through {cause.ref} in place of {cause.root}" for cause in one.recovered)


def cause_in_words(cause: Cause) -> str:
    """One reason with its basis."""
    words = str(cause.reason)
    if cause.ref:
        words += f" by {short_digest(cause.ref)}"
    if cause.root:
        words += f", through {' ← '.join(chain(cause))}"
    place = ", ".join(part for part in (f"epoch {cause.epoch}" if cause.epoch else "", shown(cause.by)) if part)
    if place:
        words += f" ({place})"
    return f"{words}: {shown(cause.note)}" if cause.note else words


def draft_lines(found: Mapping[str, Drafted]) -> Iterator[Text]:
    """One line for each candidate that a model drafted."""
    from rich.text import Text

    if found:
        yield Text("")
    for name, one in found.items():
        yield Text(f"{name}: {shown(draft_in_words(one))}")


def short_digest(name: str) -> str:
    """A digest by its beginning; anything else as it is."""
    return f"{name[:_DIGEST_CHARS]}…" if DIGEST.fullmatch(name) else shown(name)


def agent_in_words(identity: Identity) -> str:
    """Who acts, in which role, on which task."""
    return f"{identity.principal} ({identity.role}, {identity.task})"
