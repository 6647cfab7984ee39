"""From conversation to items: observe evidence, draw statements from it, record them with receipts.

A model drafts the items on behalf of a principal, and they are marked as drafted. A statement that its quote does not
carry is not recorded: the quoted words are recorded instead.

Optional: callers with structured state record it directly. A drafted slot is a hint: two drafts in it stand side by
side, and what is added replaces nothing. A statement that was taken down as an update or a withdrawal takes the
place of the earlier drafts that it names in its own words (``text.named_endings``), if the same principal recorded them
for the same audience under a slot of the same theme; what it means by other words is left to the verifier.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Unpack

import msgspec

from readmit.inference.derive import answered, keep_extraction, keep_stated, maker
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
from readmit.text.named_endings import named_by, same_theme
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.models.protocols import Model
    from readmit.models.stages.extract import Extracted
    from readmit.workspace.workspace import Workspace
    from readmit.writing.item_content import UseFields

EXTRACTION = "extraction"
NEWEST = 1_000
"""Most earlier events for an audience among which an ending looks for what it names."""
_SAYS_NOTHING = frozenset({Drop.SAYS_NOTHING, Drop.ASSISTANT, Drop.REPEATED, Drop.NO_STATEMENT})
"""Reasons for dropping an item that lose no statement."""


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
            if _read_whole(asked[name].turns, seen[name].text) and _heard(said, drafts):
                quotes = {seen[name].text: tuple(one.drafted.quote for one in kept)}
                keep_stated(desk_of(workspace).log.derived, quotes)
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
    ends: bool
    """Whether it was taken down as an update or a withdrawal, not as an addition."""
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
        ends=item.operation != "add",
        premises=item.premises,
        as_stated=text == item.statement,
        drafted=Drafted(model=model[:LONGEST_NAME], quote=quote),
    )


def _read_whole(turns: Sequence[Turn], text: str) -> bool:
    """Whether these turns are all of an observation."""
    return text in (conversation(turns), "\n\n".join(turn.text for turn in turns))


def _heard(said: Extraction, drafts: Sequence[_Draft | Drop]) -> bool:
    """Whether every statement that the extractor found was kept. A lost one may be what the observation states."""
    return _SAYS_NOTHING.issuperset(drop for drop in (*said.dropped, *drafts) if isinstance(drop, Drop))


def _observed(workspace: Workspace, name: str) -> Evidence:
    payload = desk_of(workspace).log.evidence(name).payload
    if not isinstance(payload, Evidence):
        raise ModelError(f"evidence: {name!r} is not an observation")
    return payload


def _extracted(
    workspace: Workspace, model: Model, asked: Sequence[ExtractFrom], per_call: int, without: tuple[str, ...]
) -> dict[str, Extraction | Failure]:
    found = answered(
        desk_of(workspace).log.derived,
        EXTRACTION,
        maker(model.name, PROMPT),
        {one: digest((one.key, one.turns, without)) for one in asked},
        ask=lambda missing: extract_claims(
            model, missing, workspace=workspace.name, per_call=per_call, without=without
        ),
        form=Extraction,
    )
    return {one.key: found[one] for one in asked}


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
    content = desk_of(workspace).log.keyed(digest((name, by, item.slot, item.text)))
    item_id = workspace.record(
        item.text,
        id=made_id(by, f"x{content[:16]}", seen["principals"]),
        slot=item.slot,
        sources=[name],
        by=by,
        supports=supports.get(item.slot, ()),
        drafted=item.drafted,
        **seen,
    )
    for earlier in _named(workspace, name, item, item_id) if item.ends else ():
        workspace.supersede(earlier, item_id, by=by, id=own_id(by, digest((earlier, item_id))[:32]))
    return item_id


def _named(workspace: Workspace, name: str, ending: _Draft, item_id: str) -> tuple[str, ...]:
    """Earlier drafts of the same principal that an ending names, among the newest for its audience."""
    log = desk_of(workspace).log
    at, own = log.evidence(name).epoch, log.item(item_id)
    scope = own.scope
    audience = (scope.task or "", next(iter(scope.principals), ""), next(iter(scope.roles), ""))
    drafts = {
        one.id: one.text
        for event in log.newest_for(audience, until=log.head, most=NEWEST)
        if isinstance(one := event.payload, Item) and one.drafted is not None and one.by == own.by
        if one.scope == scope and same_theme(one.slot, ending.slot)
        if all(log.evidence(receipt.evidence).epoch < at for receipt in one.receipts)
    }
    return named_by(ending.text, drafts, about=ending.slot)
