"""Issue a Return View from a selection, and match a view with its contents.

Paper, "Sign and readmit a bounded Return View": the view carries "its return-cycle identifier, principal,
role, task, epoch, expiry, item digests, and a coverage report". It names contents by digest only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from readmit.records.base import utc
from readmit.records.canonical import digest_of_set, salted_digest
from readmit.records.decisions import Request, ReturnView, Selection, ViewExperience, ViewItem, ViewSource
from readmit.records.error_types import SealError
from readmit.records.retractions import Retractions, RetractionView

if TYPE_CHECKING:
    from readmit.records.evidence import Experience
    from readmit.records.items import Item
    from readmit.records.snapshot import Held

Salts: TypeAlias = Mapping[str, bytes]
"""The salts of a view's contents, by the digests that it names them by."""
NO_SALTS: Salts = MappingProxyType({})


def issue(
    request: Request,
    selection: Selection,
    held: Mapping[str, Held],
    experiences: Sequence[tuple[Experience, str]],
    *,
    checkpoint: str,
    policy: str,
    open_pairs: int = 0,
    unheeded: int = 0,
    doubted: Collection[str] = (),
    overdue: Iterable[str] = (),
    questions: Iterable[str] = (),
    sources: Iterable[ViewSource] = (),
    retractions: Retractions = Retractions(),  # noqa: B008 - a frozen value
    news: Mapping[str, Literal["new", "confirmed"]] = MappingProxyType({}),
    since: Mapping[str, datetime | None] = MappingProxyType({}),
) -> ReturnView:
    """The view of a found selection. ``checkpoint`` and ``policy`` are digests; experiences come with theirs."""
    if selection.outcome != "found":
        raise SealError(f"selection.outcome is {selection.outcome!r}: only a found selection becomes a view")
    chosen = [_held(item, held) for item in selection.items]
    issued = utc(request.now, field="request.now")
    return ReturnView(
        return_id=request.return_id,
        identity=request.identity,
        instance=request.instance,
        purpose=request.purpose,
        epoch=request.epoch,
        issued=issued,
        expires=issued + timedelta(seconds=request.policy.returns.view_seconds),
        nonce=request.nonce,
        items=tuple(
            ViewItem(
                id=one.item.id,
                digest=one.digest,
                kind=one.item.kind,
                news=news.get(one.item.id),
                since=since.get(one.item.id),
            )
            for one in chosen
        ),
        items_digest=digest_of_set(one.digest for one in chosen),
        chars=sum(one.item.length for one in chosen),
        experiences=tuple(
            ViewExperience(id=experience.id, digest=of, bound_to=experience.bound_to) for experience, of in experiences
        ),
        coverage=selection.report,
        policy=policy,
        checkpoint=checkpoint,
        withheld=selection.withheld,
        examination=request.examination,
        open_pairs=open_pairs,
        unheeded=unheeded,
        doubted=tuple(name for name in selection.items if name in doubted),
        overdue=tuple(name for name in overdue if name in selection.mandatory),
        questions=tuple(dict.fromkeys(questions)),
        sources=tuple(sources),
        retractions=retractions,
    )


def issue_retractions(request: Request, retractions: Retractions, *, checkpoint: str, policy: str) -> RetractionView:
    """The retractions of a blocked return, bound to its workload like a view."""
    issued = utc(request.now, field="request.now")
    return RetractionView(
        return_id=request.return_id,
        identity=request.identity,
        instance=request.instance,
        epoch=request.epoch,
        issued=issued,
        expires=issued + timedelta(seconds=request.policy.returns.view_seconds),
        nonce=request.nonce,
        policy=policy,
        checkpoint=checkpoint,
        retractions=retractions,
    )


def contents(
    view: ReturnView, items: Iterable[Item], experiences: Iterable[Experience], salts: Salts = NO_SALTS
) -> tuple[tuple[Item, ...], tuple[Experience, ...]]:
    """Exactly what the view names, in its order, with every digest recomputed; ``SealError`` if any is missing."""
    item_of = matching_items(view, items, salts)
    experience_of = matching_experiences(view, experiences, salts)
    absent = [named.id for named in view.items if named.id not in item_of]
    absent += [named.id for named in view.experiences if named.id not in experience_of]
    if absent:
        raise SealError(f"not at hand with the digest that the view names: {', '.join(absent)}")
    return tuple(item_of[named.id] for named in view.items), tuple(experience_of[e.id] for e in view.experiences)


def matching_items(view: ReturnView, items: Iterable[Item], salts: Salts = NO_SALTS) -> dict[str, Item]:
    """The items that are the view's, by id: same id, same digest, same kind."""
    named = {(one.id, one.kind): one.digest for one in view.items}
    return {item.id: item for item in items if _is(item, named.get((item.id, item.kind)), salts)}


def withdrawn(retractions: Retractions, items: Iterable[Item], salts: Salts = NO_SALTS) -> tuple[Item, ...]:
    """The held items whose texts go with the retractions, with every digest recomputed; ``SealError`` as above."""
    named = {(one.id, one.kind): one.digest for one in retractions.listed if one.with_text}
    item_of = {item.id: item for item in items if _is(item, named.get((item.id, item.kind)), salts)}
    if absent := [one.id for one in retractions.listed if one.with_text and one.id not in item_of]:
        raise SealError(f"not at hand with the digest that the retraction names: {', '.join(absent)}")
    return tuple(item_of[one.id] for one in retractions.listed if one.with_text)


def matching_experiences(
    view: ReturnView, experiences: Iterable[Experience], salts: Salts = NO_SALTS
) -> dict[str, Experience]:
    """The experiences that are the view's, by id: same id, same digest, same source."""
    named = {(one.id, one.bound_to): one.digest for one in view.experiences}
    return {one.id: one for one in experiences if _is(one, named.get((one.id, one.bound_to)), salts)}


def _is(content: Item | Experience, named: str | None, salts: Salts) -> bool:
    """Whether a content has the digest that a view names."""
    return named is not None and salted_digest(salts.get(named, b""), content) == named


def _held(item: str, held: Mapping[str, Held]) -> Held:
    try:
        return held[item]
    except KeyError:
        raise SealError(f"selection.items: {item!r} is not among the held items") from None
