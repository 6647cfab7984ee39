"""An exposed bundle as text for a prompt: bounded, and always recognizable as quoted state.

Paper: "The view supplies bounded state, not tools or an action plan." Record text was written by others. It is shown in
fenced blocks that it cannot close, with invisible characters escaped. Only what the view names is shown: nothing of
items that were left out, and no premises, which may be among them. What no longer holds is named by id; its text is
shown only if the policy says so, and never as a fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from readmit.records.items import Frontier, Item, Kind, Obligation
from readmit.rules.readmission.render_brief import brief
from readmit.rules.readmission.render_retractions import (
    NOTICE,
    binding,
    bound_lines,
    retracted_lines,
    retractions_shape,
    unlisted_lines,
    workload_lines,
)
from readmit.rules.readmission.view import NO_SALTS, Salts, contents
from readmit.text.brief_form import MOST_ASKED
from readmit.text.english import counted
from readmit.text.escapes import QUOTE_CHARS, block, inline_code, iso_moment, json_text, shorten_quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.records.decisions import ReturnView, ViewSource
    from readmit.records.evidence import Experience
    from readmit.records.policy import Policy

Form: TypeAlias = Literal["full", "brief"]
"""How a bundle reads: with everything that the view says, or one line a statement for a small model."""
HEADINGS = {
    Kind.OBLIGATION: "Obligations",
    Kind.FRONTIER: "Frontiers",
    Kind.ROLE_CONSTRAINT: "Role constraints",
    Kind.INTERFACE_CONSTRAINT: "Interface constraints",
    Kind.FACT: "Facts",
}
EXPERIENCES = "Own experiences"
_NEWS = {None: (), "new": ("- New since you left",), "confirmed": ("- Confirmed again since you left",)}
IN_DOUBT = "In doubt: a later observation may have ended this, and nobody has settled it"
LISTED_CHARS = 600
"""Most characters of ids shown for one list; the rest are counted."""

# One character of text becomes at most this many: a surrogate pair of escapes in JSON.
_WIDEST = 12
# Upper limits on what surrounds the texts. An id is printable ASCII, and a backtick in it costs three: itself
# and its share of a longer fence.
_NAME = 256 * _WIDEST
_ID = 128 * 3 + 4
_LIST = LISTED_CHARS * 4 + 100
_ASKED = MOST_ASKED * (200 + _ID + 2 * (QUOTE_CHARS + 1) * _WIDEST)
_AROUND_VIEW = 2_500 + _ID + 6 * _NAME + 4 * _LIST + _ASKED
_DRAFTED = 100 + _NAME + (QUOTE_CHARS + 1) * _WIDEST
_PURPOSES = 100 + LISTED_CHARS * _WIDEST
_AROUND_ITEM = 900 + 3 * _ID + _NAME + 3 * _LIST + _PURPOSES + _DRAFTED
_AROUND_EXPERIENCE = 200 + 2 * _ID
_AROUND_RETRACTION = 400 + 4 * _ID + (QUOTE_CHARS + 1) * _WIDEST


def bound(policy: Policy) -> int:
    """The most characters that any rendering of a view within the policy's budgets can have.

    Linear in the budgets: a fixed part, a fixed part per item, experience and retraction, and 12 characters for each
    character of text. Ordinary text stays far below: it takes one character for one.
    """
    return (
        _AROUND_VIEW
        + policy.budgets.items * _AROUND_ITEM
        + policy.budgets.chars * _WIDEST
        + policy.budgets.experiences * _AROUND_EXPERIENCE
        + policy.budgets.experience_chars * _WIDEST
        + policy.budgets.retractions * _AROUND_RETRACTION
        + policy.budgets.retraction_chars * _WIDEST
    )


def markdown(
    view: ReturnView,
    items: Sequence[Item],
    experiences: Sequence[Experience] = (),
    retracted: Sequence[Item] = (),
    salts: Salts = NO_SALTS,
    *,
    form: Form = "full",
    asked: str = "",
) -> str:
    """The bundle as Markdown. ``SealError`` if a content is not the one the view names."""
    if form == "brief":
        remarks = (*workload_lines(view), *_remarks(view), *unlisted_lines(view.retractions))
        return brief(view, items, experiences, retracted, salts, asked=asked, remarks=remarks)
    shown, remembered = contents(view, items, experiences, salts)
    lines = [*_head(view), *retracted_lines(view.retractions, retracted, shown, salts=salts)]
    news = {named.id: named.news for named in view.items}
    for kind, heading in HEADINGS.items():
        group = [item for item in shown if item.kind is kind]
        if group:
            lines += ["", f"## {heading}"]
        for item in group:
            facets = (
                *_facets(item),
                *([f"- {IN_DOUBT}"] if item.id in view.doubted else []),
                *(_source(one) for one in view.sources if one.item == item.id),
                *_NEWS[news[item.id]],
            )
            lines += ["", f"### {inline_code(item.id)}", "", *facets, "", *block(item.text)]
    if remembered:
        lines += ["", f"## {EXPERIENCES}"]
    for one in remembered:
        lines += ["", f"### {inline_code(one.id)}", "", f"- From: {inline_code(one.bound_to)}", "", *block(one.text)]
    return "\n".join(lines) + "\n"


def json_bundle(
    view: ReturnView,
    items: Sequence[Item],
    experiences: Sequence[Experience] = (),
    retracted: Sequence[Item] = (),
    salts: Salts = NO_SALTS,
) -> str:
    """The bundle as one line of JSON, with the exact texts. ``SealError`` as for ``markdown``."""
    shown, remembered = contents(view, items, experiences, salts)
    bundle = {
        "notice": NOTICE,
        **binding(view),
        "purpose": view.purpose,
        "coverage": {
            "obligations": view.coverage.obligations,
            "covered": view.coverage.covered,
            "critical": view.coverage.critical,
            "critical_covered": view.coverage.critical_covered,
            **_listed("missing", view.coverage.missing),
        },
        "partial": view.partial,
        **_listed("withheld", view.withheld),
        **_listed("overdue", view.overdue),
        **_listed("questions", view.questions),
        "examination": _examination(view),
        **retractions_shape(view.retractions, retracted, salts),
        "items": [
            _item(item) | _fresh(view, item) | _new(view, item)
            for kind in HEADINGS
            for item in shown
            if item.kind is kind
        ],
        "experiences": [{"id": one.id, "bound_to": one.bound_to, "text": one.text} for one in remembered],
    }
    return json_text(bundle)


def _head(view: ReturnView) -> Iterator[str]:
    yield from bound_lines(view, "Return view")
    yield from _remarks(view)


def _remarks(view: ReturnView) -> Iterator[str]:
    """The lines about the view itself: its coverage, its gaps, and its unexamined observations."""
    coverage = view.coverage
    yield (
        f"- Coverage: {coverage.covered} of {counted(coverage.obligations, 'obligation')}, "
        f"{coverage.critical_covered} of {counted(coverage.critical, 'critical dependency')}"
    )
    if view.partial:
        yield f"- Partial: only whole duties are here. Withheld: {_ids(view.withheld)}. Do not act on those"
    if view.overdue:
        yield f"- Overdue: {_ids(view.overdue)}"
    if view.questions:
        yield f"- Open questions, which nobody has answered: {_ids(view.questions)}"
    if coverage.missing:
        yield f"- Still missing: {_ids(coverage.missing)}"
    yield f"- Implicit changes: {_looked(view)}"
    if view.unheeded:
        yield (
            f"- Not looked at: {counted(view.unheeded, 'observation')} of the absence that no item rests on and nobody "
            "examined; something here may have changed unnoticed"
        )


def _looked(view: ReturnView) -> str:
    looked = view.examination
    if looked is None:
        words = "no examination is on record"
    else:
        words = f"looked for by {inline_code(looked.verifier)} up to epoch {looked.until}"
        if looked.unexamined:
            words += f", not in {counted(looked.unexamined, 'newer observation')}"
        if looked.nothing_stated:
            words += f"; {counted(looked.nothing_stated, 'observation')} read, nothing stated"
    return f"{words}; suspected and not settled: {view.open_pairs}" if view.open_pairs else words


def _examination(view: ReturnView) -> dict[str, Any]:
    looked = view.examination
    if looked is None:
        return {"examined": False, "open_pairs": view.open_pairs, "unheeded": view.unheeded}
    return {
        "examined": True,
        "verifier": looked.verifier,
        "until": looked.until,
        "unexamined": looked.unexamined,
        "nothing_stated": looked.nothing_stated,
        "open_pairs": view.open_pairs,
        "unheeded": view.unheeded,
    }


def _fresh(view: ReturnView, item: Item) -> dict[str, Any]:
    own = [one for one in view.sources if one.item == item.id]
    return {"source": {"seen": iso_moment(own[0].seen), "finding": str(own[0].finding)}} if own else {}


def _source(one: ViewSource) -> str:
    return f"- Source last seen {iso_moment(one.seen)}: {one.finding}"


def _new(view: ReturnView, item: Item) -> dict[str, str]:
    said = next((one.news for one in view.items if one.id == item.id), None)
    doubt = {"doubt": IN_DOUBT} if item.id in view.doubted else {}
    return doubt if said is None else {"since_departure": said, **doubt}


def _facets(item: Item) -> Iterator[str]:
    """An item's fields besides its text."""
    yield f"- By: {inline_code(item.by)}"
    if item.drafted is not None:
        words = f", quote: {inline_code(shorten_quote(item.drafted.quote))}" if item.drafted.quote else ""
        yield f"- Drafted by {inline_code(item.drafted.model)}{words}"
    if item.slot is not None:
        yield f"- About: {inline_code(item.slot)}"
    if item.purposes:
        yield f"- Only for: {_ids(item.purposes)}"
    if item.valid.end is not None:
        yield f"- Valid until: {iso_moment(item.valid.end)}"
    if isinstance(item, Obligation):
        yield f"- Requires: {_ids(item.required)}"
        if item.critical:
            yield f"- Critical: {_ids(item.critical)}"
        if item.lists:
            yield f"- Lists: {_ids(item.lists)}"
    if isinstance(item, Frontier):
        yield f"- Of: {inline_code(item.obligation)}"
    if item.supports:
        yield f"- Supports: {_ids(item.supports)}"


def _item(item: Item) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": item.id, "kind": item.kind.value, "text": item.text, "by": item.by}
    if item.drafted is not None:
        shown["drafted"] = {"model": item.drafted.model, "quote": shorten_quote(item.drafted.quote)}
    if item.slot is not None:
        shown["slot"] = item.slot
    if item.purposes:
        shown |= _listed("purposes", item.purposes)
    if item.valid.end is not None:
        shown["valid_until"] = iso_moment(item.valid.end)
    if isinstance(item, Obligation):
        shown |= _listed("required", item.required) | _listed("critical", item.critical)
        shown |= _listed("lists", item.lists) if item.lists else {}
    if isinstance(item, Frontier):
        shown["obligation"] = item.obligation
    if item.supports:
        shown |= _listed("supports", item.supports)
    return shown


def _ids(ids: Sequence[str]) -> str:
    shown, more = _cut(ids)
    listed = ", ".join(map(inline_code, shown)) or "nothing"
    return f"{listed} and {more} more" if more else listed


def _listed(field: str, ids: Sequence[str]) -> dict[str, Any]:
    shown, more = _cut(ids)
    return {field: list(shown), f"{field}_more": more} if more else {field: list(shown)}


def _cut(ids: Sequence[str]) -> tuple[Sequence[str], int]:
    """As many ids as may be shown, and the number of the rest: no budget limits how many there are."""
    chars = 0
    for count, one in enumerate(ids):
        chars += len(one) + 2
        if chars > LISTED_CHARS:
            return ids[:count], len(ids) - count
    return ids, 0
