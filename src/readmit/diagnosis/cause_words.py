"""Causes as a person would say them: who did what to which item, and what it says now."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.records.decisions import Cause, Disposition

LINKS = 12
"""Most premises of a chain that are named; then the last one is."""
_LONGEST_TEXT = 120
NOTHING: Mapping[str, Disposition] = MappingProxyType({})
NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class _Ending(NamedTuple):
    """The end of an item: as a clause about it, and as a relative clause."""

    clause: str
    relative: str


def chain(cause: Cause, judged: Mapping[str, Disposition] = NOTHING) -> tuple[str, ...]:
    """From an item's own premise to the one that fell by itself, as far as ``judged`` leads; ``…`` stands for the rest.

    A premise that the returning agent could not see has no disposition.
    """
    path = [cause.ref]
    while path[-1] != cause.root and len(path) < LINKS and path[-1] in judged:
        path += [one.ref for one in judged[path[-1]].causes if one.root == cause.root][:1] or [cause.root]
    return tuple(path) if path[-1] == cause.root else (*path, "…", cause.root)


def sentence(cause: Cause, judged: Mapping[str, Disposition] = NOTHING, texts: Mapping[str, str] = NO_TEXTS) -> str:
    """Why an item is out. ``judged`` holds dispositions of premises, ``texts`` what items say."""
    if cause.root:
        links = chain(cause, judged)
        path = ", which depends on ".join(f"`{name}`" for name in links[:-1] if name != "…")
        skipped = ", and through others on " if "…" in links else ", which depends on "
        path = skipped.join(filter(None, (path, f"`{cause.root}`")))
        return _ended(f"It fell because it depends on {path}, {_how_fell(cause, judged, texts)}")
    if cause.reason is Reason.UNPROVEN:
        of_another = f"`{cause.ref}`, which it names," if cause.ref not in ("", "item") else "it"
        return f"No receipt binds {of_another} to evidence."
    ended = _ending(cause, texts)
    if ended is None:
        return f"{cause.reason.doc}{details(cause)}"
    return _ended(f"It fell because {ended.clause}{_when_and_why(cause)}")


def _ended(words: str) -> str:
    """With a full stop, unless a note ends it otherwise."""
    return words if words.endswith(("?", "!", "…")) else f"{words}."


def _how_fell(cause: Cause, judged: Mapping[str, Disposition], texts: Mapping[str, str]) -> str:
    """The fall of the premise at the end of a chain, as a relative clause."""
    known: Sequence[Cause] = judged[cause.root].causes if cause.root in judged else ()
    for root in sorted((one for one in known if not one.root), key=lambda one: one.epoch != cause.epoch):
        ended = _ending(root, texts)
        if ended is None:
            return f"which is {root.reason.replace('_', ' ')}{_when_and_why(root)}"
        return f"{ended.relative}{_when_and_why(root)}"
    if cause.note == "unknown premise":
        return "which is not on record"
    return f"which no longer holds ({cause.note})" if cause.note else "which no longer holds"


def _ending(cause: Cause, texts: Mapping[str, str]) -> _Ending | None:
    who = cause.by or "somebody"
    match cause.reason:
        case Reason.SUPERSEDED | Reason.SLOT_UPDATED | Reason.FRONTIER_MOVED if cause.ref:
            by = f" by {_quoted(cause.ref, texts)}"
            return _Ending(f"{who} replaced it{by}", f"which {who} replaced{by}")
        case Reason.REVOKED:
            return _Ending(f"{who} withdrew it", f"which {who} withdrew")
        case Reason.SETTLED:
            return _Ending(f"{who} settled it", f"which {who} settled")
        case Reason.DISPUTE_LOST:
            return _Ending(
                f"{who} resolved the dispute {cause.ref} against it", f"against which {who} resolved the dispute"
            )
        case Reason.DISPUTED:
            dispute = f"{who} raised the dispute `{cause.ref}`"
            return _Ending(f"{dispute} about it", f"about which {dispute}")
        case Reason.PREMISE_CHANGED if cause.ref:
            by = f"invalidated by the observation `{cause.ref}`"
            return _Ending(f"{who} found it {by}", f"which {who} found {by}")
        case Reason.EXPIRED if cause.epoch is not None:
            return _Ending(f"{who} ended its validity", f"whose validity {who} ended")
        case Reason.EXPIRED:
            return _Ending("its time is over", "whose time is over")
    return None


def _quoted(name: str, texts: Mapping[str, str]) -> str:
    text = " ".join(texts.get(name, "").split())
    cut = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
    return f"`{name}` (“{cut}”)" if cut else f"`{name}`"


def _when_and_why(cause: Cause) -> str:
    when = "" if cause.epoch is None else f" at epoch {cause.epoch}"
    return f"{when}: {cause.note.removesuffix('.')}" if cause.note else when


def details(cause: Cause) -> str:
    """The basis of a cause, as a sentence."""
    labels = (("by", cause.ref), ("at epoch", cause.epoch), ("written by", cause.by))
    parts = [f"{label} {value}" for label, value in labels if value]
    if cause.note:
        parts.append(f"because {cause.note}" if parts else cause.note)
    words = ", ".join(parts)
    return f" {words[0].upper()}{words[1:].removesuffix('.')}." if words else ""


def sentences(one: Disposition, judged: Mapping[str, Disposition], texts: Mapping[str, str]) -> Iterator[str]:
    """Why an item is in or out, one sentence per reason."""
    if not one.causes:
        yield from (reason.doc for reason in one.reasons)
    for cause in one.causes:
        yield sentence(cause, judged, texts)
    for cause in one.recovered:
        if cause.root:
            yield f"It stands again through {cause.ref}, which says from later evidence what {cause.root} said."
        else:
            yield (
                "Its source changed, and a verifier found that it still holds of what is there now. "
                f"Found by {cause.by}, quote: “{cause.note}”."
            )
    for cause in one.unseen:
        yield f"{cause.reason.doc}{details(cause)} It supports nothing critical, so that does not take it out."
    for cause in one.overruled:
        ended = None if cause.root else _ending(cause, texts)
        yield _ended(
            f"{cause.reason.doc} But {cause.note}"
            if ended is None
            else f"It stands although {ended.clause}: {cause.note}"
        )


def replacements(*found: Disposition) -> frozenset[str]:
    """The items that replaced others, by these dispositions."""
    return frozenset(
        cause.ref
        for one in found
        for cause in one.causes
        if cause.reason in (Reason.SUPERSEDED, Reason.SLOT_UPDATED, Reason.FRONTIER_MOVED)
    )
