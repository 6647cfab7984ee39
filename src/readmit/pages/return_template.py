"""The page of one return: the decision, and why every item is in or out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages import drawings as drawing
from readmit.pages import layout
from readmit.pages.layout import PageSection, badge, folded, item_link, tone_of
from readmit.pages.markup import Markup, element, together
from readmit.pages.page_values import ReturnPage, ShownDuty, ShownItem, ShownNeed, Tone, cut
from readmit.records.reasons import PRECEDENCE, State
from readmit.records.retractions import Retraction, Retractions
from readmit.text.english import counted
from readmit.text.escapes import format_moment, shorten_digests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.diagnosis.symptoms import Former, Lack

LISTED = 400
"""Most events that the timeline lists in words; all of them are drawn."""
_CHANGES = ("Item", "What changed", "Instead")
DRAWN = 24
"""Most trees of premises that are drawn."""


def return_html(page: ReturnPage) -> str:
    """One past return as a page of its own."""
    anchors = layout.anchored(page.entries)
    verdict = element("p", page.verdict, class_=f"verdict {page.tone}")
    reasons = element("ul", *(element("li", reason) for reason in page.reasons)) if page.reasons else Markup()
    return layout.document(page.heading, together((verdict, reasons)), list(_sections(page, anchors)))


def _sections(page: ReturnPage, anchors: Mapping[str, str]) -> Iterator[PageSection]:
    if page.lacking:
        yield PageSection("lacking", "What is missing", _lacking(page, anchors))
    if page.duties:
        yield PageSection("duties", "Duties", _duties(page.duties, anchors))
    if page.retractions != Retractions() or page.news:
        yield PageSection("retractions", "What the agent learns has changed", _changes(page, anchors))
    yield PageSection("timeline", "From departure to return", _timeline(page, anchors))
    if page.fallen:
        yield PageSection("premises", "What fell, and what fell with it", _premises(page))
    yield PageSection("items", "Every item, in or out", _items(page.entries, anchors))
    yield PageSection("budget", "Budget", _budget(page))
    if page.experiences:
        yield PageSection("experiences", "Private experiences", _experiences(page, anchors))
    yield PageSection("signatures", "Signatures", _signatures(page))


def _changes(page: ReturnPage, anchors: Mapping[str, str]) -> Markup:
    """Retractions, doubts, new items, and items that were confirmed again."""
    made = page.retractions
    labeled = [("no longer holds", one) for one in made.fallen] + [("in doubt", one) for one in made.in_doubt]
    rows = [(item_link(one.id, anchors), _retracted(label, one), _instead(one, anchors)) for label, one in labeled]
    labels = {"new": "new since departure", "confirmed": "confirmed again since departure"}
    rows += [(item_link(name, anchors), badge(labels[news], "in"), "") for name, news in page.news]
    counts = {"not listed for lack of room": made.more, "fallen before departure, not listed": made.earlier}
    said = "; ".join(f"{count} {words}" for words, count in counts.items() if count)
    whole = layout.html_table("Handed over with the view, or alone if the return is blocked", _CHANGES, rows)
    return together((whole if rows else "", element("p", f"{said}.") if said else ""))


def _retracted(label: str, one: Retraction) -> Markup:
    since = f" since {format_moment(one.since)}" if one.since is not None else ""
    place = f", epoch {one.epoch}" if one.epoch is not None else ""
    return together((badge(label, "out"), f" {one.state.replace('_', ' ')}{since}{place}"))


def _instead(one: Retraction, anchors: Mapping[str, str]) -> Markup | str:
    return "" if one.instead is None else item_link(one.instead, anchors)


def _lacking(page: ReturnPage, anchors: Mapping[str, str]) -> Markup:
    command = element("code", f"readmit why {page.return_id}")
    near = element("p", command, " also looks for near misses, and for what has happened since.")
    return together((*(_lack(one, anchors) for one in page.lacking), near))


def _lack(one: Lack, anchors: Mapping[str, str]) -> Markup:
    title = f"Lacking {one.name}" if one.kind == "dependency" else f"Not fit to be handed over: {one.kind} {one.name}"
    needed = f"Needed by {', '.join(one.duties)}." if one.duties else "Needed by no duty."
    needed = "It limits every duty." if one.kind == "constraint" else needed
    last = (_former(former, anchors) for former in (*one.last, *one.instead))
    mending = (
        element("li", element("code", remedy.call), element("br"), element("code", f"$ {remedy.command}"))
        for remedy in one.remedies
    )
    return element(
        "article",
        element("h3", title + (", critical" if one.critical else "")),
        element("p", needed + ("" if one.last else " Nothing has met it yet.")),
        element("ul", *last) if one.last or one.instead else "",
        element("p", "What would meet it:") if one.remedies else "",
        element("ol", *mending) if one.remedies else "",
    )


def _former(one: Former, anchors: Mapping[str, str]) -> Markup:
    said = f" “{cut(one.text, layout.SAID_CHARS)}” is {str(one.state).replace('_', ' ')}: "
    return element("li", item_link(one.item, anchors), said, shorten_digests(" ".join(one.why)), dir="auto")


def _duties(duties: Sequence[ShownDuty], anchors: Mapping[str, str]) -> Markup:
    rows = (
        (
            together((item_link(duty.id, anchors), " ", duty.text)),
            _fate(duty),
            element("ul", *(_need(need, anchors) for need in duty.needs), class_="plain"),
        )
        for duty in duties
    )
    whole = layout.html_table("Each duty, and what it requires", ("Duty", "State", "Requires"), rows)
    return folded(counted(len(duties), "duty"), len(duties), whole)


def _fate(duty: ShownDuty) -> Markup:
    tone: Tone = "in" if duty.handed_over else "out" if duty.state.owed else "fit"
    said = "handed over" if duty.handed_over else "not handed over" if duty.state.owed else "not owed"
    asked = f" Open questions: {', '.join(duty.questions)}." if duty.questions else ""
    return together((badge(said, tone), " ", duty.state.doc + asked))


def _need(need: ShownNeed, anchors: Mapping[str, str]) -> Markup:
    sign = element("span", "✓" if need.met_by else "✕", class_="sign")
    name = element("code", need.name)
    critical = " (critical)" if need.critical else ""
    met = together((item_link(one, anchors) for one in need.met_by), ", ")
    return element("li", sign, " ", name, critical, " by " if need.met_by else ": nothing fit meets it", met)


def _timeline(page: ReturnPage, anchors: Mapping[str, str]) -> Markup:
    drawn = drawing.inline_drawing(drawing.timeline(page.departed, page.returned, page.happenings))
    if not page.happenings:
        return together((drawn, element("p", "Nothing happened that the agent could see.")))
    listed = page.happenings[-LISTED:]
    left = len(page.happenings) - len(listed)
    note = element("p", f"The {counted(left, 'event')} before these are drawn and not listed.") if left else ""
    title = f"What the agent could see of it ({counted(len(page.happenings), 'event')}, in log order)"
    inner = together((note, layout.event_list(listed, anchors)))
    return together((drawn, folded(title, len(page.happenings), inner)))


def _premises(page: ReturnPage) -> Markup:
    drawn = page.fallen[:DRAWN]
    figures = (element("figure", drawing.inline_drawing(drawing.draw_premises(tree))) for tree in drawn)
    left = len(page.fallen) - len(drawn)
    return together(
        (
            element(
                "p", "Each drawing starts with what changed. An arrow leads to what rests on it and is out for that."
            ),
            element("div", *figures, class_="trees"),
            element("p", f"{counted(left, 'more drawing')} left out; every item below names its chain.")
            if left
            else "",
        )
    )


def _items(entries: Sequence[ShownItem], anchors: Mapping[str, str]) -> Markup:
    if not entries:
        return element("p", "No item was judged.")
    # What is handed over first, then what is out, then what is fit and was not handed over.
    order = sorted(PRECEDENCE, key=lambda state: ("in", "out", "fit").index(tone_of(state)))
    groups = ((state, [entry for entry in entries if entry.state is state]) for state in order)
    return together(layout.listing(_group(state), own, anchors) for state, own in groups if own)


def _group(state: State) -> str:
    words = str(state).replace("_", " ")
    return "In: handed over" if state is State.ADMITTED else f"{words[0].upper()}{words[1:]}"


def _budget(page: ReturnPage) -> Markup:
    rows = (
        element("div", f"{use.label}: {use.used} of {use.most}", drawing.inline_drawing(drawing.used(use)))
        for use in page.uses
    )
    return element("div", *rows, class_="uses")


def _experiences(page: ReturnPage, anchors: Mapping[str, str]) -> Markup:
    rows = ((element("code", name), item_link(bound, anchors), why) for name, bound, why in page.experiences)
    return layout.html_table("Their texts are the owner's alone", ("Experience", "Bound to", "Outcome"), rows)


def _signatures(page: ReturnPage) -> Markup:
    rows = (
        (
            seal.what,
            together(
                (badge("verifies" if seal.verifies else "does not verify", "in" if seal.verifies else "out"), " ")
            ),
            element("span", seal.key, class_="digest"),
            shorten_digests(seal.note),
        )
        for seal in page.seals
    )
    signed = layout.html_table("Signatures, checked when this page was made", ("Signed", "Result", "Key", "Note"), rows)
    sums = ((name, element("span", digest, class_="digest")) for name, digest in page.digests)
    return together(
        (
            signed if page.seals else element("p", "Nothing of this return is signed."),
            *(element("p", line) for line in page.deliveries),
            element("h3", "Digests (SHA-256)"),
            layout.facts(sums),
        )
    )
