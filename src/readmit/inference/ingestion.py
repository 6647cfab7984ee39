"""From conversation to items: observe evidence, draw statements from it, record them with receipts.

A model drafts the items on behalf of a principal, and they are marked as drafted. A statement that its quote does not
carry is not recorded: the quoted words are recorded instead.

Optional: callers with structured state record it directly. A model withdraws nothing: a statement that something ended
is recorded in its slot and replaces the earlier item, like any other.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Unpack

import msgspec

from readmit.inference.derive import keep_extraction, maker
from readmit.models.protocols import Failure
from readmit.models.stages.extract import PROMPT, WITHOUT, Drop, ExtractFrom, Extraction, Turn, extract_claims
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest
from readmit.records.error_types import ModelError
from readmit.records.evidence import Evidence
from readmit.records.identity import made_id, own_id
from readmit.records.items import Drafted, Item
from readmit.records.verdicts import quoted
from readmit.text.carried import worded
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.models.protocols import Model
    from readmit.models.stages.extract import Extracted
    from readmit.workspace.workspace import Workspace
    from readmit.writing.item_content import UseFields

EXTRACTION = "extraction"


class Ingested(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one piece of evidence."""

    evidence: str
    items: tuple[str, ...] = ()
    dropped: dict[str, int] = {}
    """How many proposed items were dropped, per reason."""
    quoted: int = 0
    """How many statements were held back: they say more than their quote, or leave out words that turn it. The quoted
    sentences were recorded instead."""
    failure: str = ""
    """Why the extraction failed; empty if it did not. A failed one can be repeated."""


def conversation(turns: Sequence[Turn]) -> str:
    """A conversation as the text of one piece of evidence: every turn verbatim, under its speaker."""
    return "\n\n".join(f"{turn.by}:\n{turn.text}" for turn in turns)


def ingest(
    workspace: Workspace,
    model: Model,
    evidence: Sequence[str],
    *,
    by: str,
    turns: Mapping[str, Sequence[Turn]] | None = None,
    supports: Mapping[str, Sequence[str]] | None = None,
    without: Sequence[str] = WITHOUT,
    per_call: int = 1,
    **fields: Unpack[UseFields],
) -> tuple[Ingested, ...]:
    """Draw items from observed evidence and record them, in one commit.

    ``turns`` gives, by digest, the turns of a conversation to read; others are neither read nor paid for. ``supports``
    names the dependencies that a slot is evidence for, ``without`` the speakers that give no items. Further fields are
    those of ``Workspace.record``. An extraction is kept and never repeated.
    """
    # In log order, so that of two statements about one slot the later observed one is recorded last.
    ordered = sorted(evidence, key=lambda name: desk_of(workspace).log.evidence(name).epoch)
    seen = {name: _observed(workspace, name) for name in ordered}
    asked = {
        name: ExtractFrom(key=name, turns=tuple((turns or {}).get(name) or (Turn(one.by, one.text),)), at=one.at)
        for name, one in seen.items()
    }
    found = _extracted(workspace, model, list(asked.values()), per_call, tuple(without))
    model_name = maker(model.name, PROMPT)
    ingested: list[Ingested] = []
    with workspace.batch():
        for name, said in found.items():
            if isinstance(said, Failure):
                ingested.append(Ingested(evidence=name, failure=said.message))
                continue
            drafts = [_draft(item, seen[name].text, model_name) for item in said.items]
            kept = [one for one in drafts if isinstance(one, _Draft)]
            keep_extraction(
                desk_of(workspace).log.derived,
                model.name,
                {one.text: one.premises for one in kept},
                {seen[name].text: tuple(dict.fromkeys(one.text for one in kept))},
            )
            items = tuple(
                _recorded(workspace, name, one, by=by, evidence=seen[name], supports=supports or {}, fields=fields)
                for one in kept
            )
            counts = Counter(str(drop) for drop in (*said.dropped, *drafts) if isinstance(drop, Drop))
            ingested.append(
                Ingested(
                    evidence=name,
                    items=tuple(dict.fromkeys(items)),
                    dropped=dict(counts),
                    quoted=sum(not one.as_stated for one in kept),
                )
            )
    return tuple(ingested)


class _Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An extracted item before it is recorded, reduced to the words that its quote carries."""

    text: str
    slot: str
    premises: tuple[str, ...]
    as_stated: bool
    drafted: Drafted


def _draft(item: Extracted, evidence: str, model: str) -> _Draft | Drop:
    """The recordable draft of a statement, or the reason to drop it."""
    found = worded(item.statement, item.quote, evidence)
    if found is None:
        return Drop.HELD_BACK if quoted(item.quote, evidence) else Drop.QUOTE_NOT_FOUND
    text, quote = found
    return _Draft(
        text=text,
        slot=item.slot,
        premises=item.premises,
        as_stated=text == item.statement,
        drafted=Drafted(model=model[:LONGEST_NAME], quote=quote),
    )


def _observed(workspace: Workspace, name: str) -> Evidence:
    payload = desk_of(workspace).log.evidence(name).payload
    if not isinstance(payload, Evidence):
        raise ModelError(f"evidence: {name!r} is not an observation")
    return payload


def _extracted(
    workspace: Workspace, model: Model, asked: Sequence[ExtractFrom], per_call: int, without: tuple[str, ...]
) -> dict[str, Extraction | Failure]:
    derived, by = desk_of(workspace).log.derived, maker(model.name, PROMPT)
    keys = {one.key: digest((one.key, one.turns, without)) for one in asked}
    stored = derived.read(EXTRACTION, by, keys.values())
    missing = [one for one in asked if keys[one.key] not in stored]
    answers = (
        extract_claims(model, missing, workspace=workspace.name, per_call=per_call, without=without) if missing else []
    )
    made = {one.key: said for one, said in zip(missing, answers, strict=True)}
    rows = {keys[name]: msgspec.json.encode(said) for name, said in made.items() if isinstance(said, Extraction)}
    derived.write(EXTRACTION, by, rows)
    return {
        one.key: made[one.key] if one.key in made else msgspec.json.decode(stored[keys[one.key]], type=Extraction)
        for one in asked
    }


def _recorded(
    workspace: Workspace,
    name: str,
    item: _Draft,
    *,
    by: str,
    evidence: Evidence,
    supports: Mapping[str, Sequence[str]],
    fields: UseFields,
) -> str:
    scope = evidence.scope
    # By default an item has the scope of its evidence.
    seen: UseFields = {"task": scope.task, "roles": scope.roles, "principals": scope.principals}
    seen.update(fields)
    newer = _newer(workspace, name, seen["task"], item.slot)
    item_id = workspace.record(
        item.text,
        id=made_id(by, f"x{digest((name, by, item.slot, item.text))[:16]}", seen["principals"]),
        # Drawn from a conversation that is older than the slot's current item: it must not replace that item.
        slot=item.slot if newer is None else None,
        sources=[name],
        by=by,
        supports=supports.get(item.slot, ()),
        drafted=item.drafted,
        **seen,
    )
    if newer is not None:
        workspace.supersede(item_id, newer, by=by, id=own_id(by, digest((item_id, newer))[:32]))
    return item_id


def _newer(workspace: Workspace, name: str, task: str | None, slot: str) -> str | None:
    """The latest item of a slot that rests on later evidence than this."""
    log = desk_of(workspace).log
    at = log.evidence(name).epoch
    found: list[tuple[int, str]] = []
    for event in log.in_slot(task, slot, until=log.head):
        if isinstance(event.payload, Item) and event.payload.receipts:
            sources = [log.evidence(receipt.evidence).epoch for receipt in event.payload.receipts]
            found.append((max(sources), event.payload.id))
    epoch, item_id = max(found, default=(0, ""))
    return item_id if epoch > at else None
