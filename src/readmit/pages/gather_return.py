"""Gathers the values of a return's page from the log and the audit.

The cost grows with the return's candidates and the events between departure and return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.diagnosis.history import looked_in_words
from readmit.diagnosis.missing_needs import lacking
from readmit.diagnosis.trial import FIT
from readmit.pages.event_words import format_moment
from readmit.pages.item_entries import Sight
from readmit.pages.page_values import Happening, Heading, ReturnPage, ShownDuty, ShownNeed, Use
from readmit.pages.premise_trees import trees
from readmit.pages.seals import deliveries, digests, seals
from readmit.records.acts.event import EventKind
from readmit.records.items import Item, Obligation
from readmit.records.reasons import State
from readmit.records.snapshot import WorkState
from readmit.rules.capture.fold import fold
from readmit.rules.capture.links import linked_needs
from readmit.state.past_returns import dispositions, recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from readmit.diagnosis.missing_needs import Former, Lack
    from readmit.log.log import Log
    from readmit.pages.page_values import Tone
    from readmit.records.acts.event import Checkpoint, Event
    from readmit.records.decisions import Decision, Disposition, Request, ViewItem
    from readmit.records.snapshot import Held


def return_values(log: Log, return_id: str, *, now: datetime) -> ReturnPage:
    """The page values of one past return."""
    with log.reading():
        return _gathered(log, return_id, now)


def _gathered(log: Log, return_id: str, now: datetime) -> ReturnPage:
    returned, decision = recorded(log, return_id)
    request, who = returned.request, returned.request.identity
    departed = log.departure(request.checkpoint)
    judged = {one.item: one for one in dispositions(log, return_id)}
    seen, evidence = log.sight(who, until=request.epoch)
    state = fold(WorkState(), seen)
    held, entered = dict(state.held), {one.payload.id: one for one in seen if isinstance(one.payload, Item)}
    for name in judged.keys() - held.keys():
        # Seen in the role in which the agent departed, and not in the one in which it returned.
        about = log.about([name], until=request.epoch)
        held |= fold(WorkState(), about).held
        entered |= {one.payload.id: one for one in about if isinstance(one.payload, Item)}
    held = {name: held[name] for name in judged}
    sight = Sight(log, who, held, evidence)
    verdict, tone = _verdict(decision)
    note = (decision.note,) if decision.note else ()
    return ReturnPage(
        heading=Heading(
            workspace=log.workspace,
            title=f"Return of {who.principal}",
            facts=tuple(_facts(request, decision, departed)),
            made=now,
        ),
        return_id=return_id,
        verdict=verdict,
        tone=tone,
        reasons=(*(f"{reason.doc} ({reason})" for reason in decision.reasons), *note),
        departed=_point(departed.epoch, departed.at, f"{departed.identity.principal} departed"),
        returned=_point(request.epoch, request.now, f"{who.principal} returned"),
        happenings=tuple(map(sight.worded, _events(log, seen, departed, request))),
        entries=tuple(sight.entry(held[name], one, entered[name].at) for name, one in judged.items()),
        fallen=trees(sight, judged),
        retractions=decision.retractions,
        news=tuple((item.id, item.news) for item in _viewed(decision) if item.news is not None),
        duties=tuple(_duties(decision, held, judged, linked_needs(state.held, request.policy, request.moment))),
        lacking=tuple(_shown(lack, sight) for lack in lacking(log, return_id)),
        uses=tuple(_uses(request, decision)),
        seals=tuple(seals(log, return_id, now)),
        digests=tuple(digests(returned, decision, departed)),
        deliveries=tuple(deliveries(log, return_id)),
        experiences=tuple((note.experience, note.bound_to, note.reason.doc) for note in decision.experiences),
    )


def _viewed(decision: Decision) -> tuple[ViewItem, ...]:
    return () if decision.view is None else decision.view.items


def _point(epoch: int, at: datetime, words: str) -> Happening:
    return Happening(epoch=epoch, at=at, lane="looked into", words=words)


def _verdict(decision: Decision) -> tuple[str, Tone]:
    if decision.faults:
        return f"{decision.kind.capitalize()}: nothing was judged", "out"
    if decision.view is None:
        return f"{decision.kind.capitalize()}: nothing is handed over", "out"
    if decision.view.partial:
        return "Admitted in part: only whole duties are handed over", "fit"
    return "Admitted", "in"


def _facts(request: Request, decision: Decision, departed: Checkpoint) -> Iterator[tuple[str, str]]:
    who, report = request.identity, decision.report
    yield "Return", request.return_id
    yield "Agent", f"{who.principal} as {who.role}"
    yield "Task", who.task
    if request.purpose is not None:
        yield "Purpose", request.purpose
    role = "" if departed.identity.role == who.role else f" as {departed.identity.role}"
    yield "Departed", f"{format_moment(departed.at)}, epoch {departed.epoch}{role}"
    yield "Returned", f"{format_moment(request.now)}, epoch {request.epoch}"
    if not decision.faults:
        yield "Duties covered", f"{report.covered} of {report.obligations}"
        yield "Critical needs met", f"{report.critical_covered} of {report.critical}"
        yield "Candidates", str(decision.candidates)
    yield "Implicit changes", looked_in_words(decision)


def _events(log: Log, seen: list[Event], departed: Checkpoint, request: Request) -> list[Event]:
    """The events between departure and return that the returning agent could see."""
    since, until = departed.epoch, request.epoch
    events = {event.epoch: event for event in seen if event.epoch > since}
    events |= {event.epoch: event for event in log.observations(request.identity, since=since, until=until)}
    governed = log.milestones(EventKind.GOVERN, until=until)
    events |= {event.epoch: event for event in governed if event.epoch > since}
    return [events[epoch] for epoch in sorted(events)]


def _duties(
    decision: Decision,
    held: Mapping[str, Held],
    judged: Mapping[str, Disposition],
    links: Mapping[str, tuple[str, ...]],
) -> Iterator[ShownDuty]:
    # Items that are handed over meet a need; if none are, all fit items count.
    counting = {State.ADMITTED} if decision.view is not None else FIT
    meeting: dict[str, list[str]] = {}
    for name, one in judged.items():
        if one.state in counting:
            for need in (*held[name].item.covers, *links.get(name, ())):
                meeting.setdefault(need, []).append(name)
    for note in decision.duties:
        item = held[note.obligation].item
        required = item.required if isinstance(item, Obligation) else ()
        critical = item.critical if isinstance(item, Obligation) else ()
        yield ShownDuty(
            id=item.id,
            text=item.text,
            state=note.state,
            handed_over=note.handed_over,
            needs=tuple(ShownNeed(name, name in critical, tuple(meeting.get(name, ()))) for name in required),
            questions=note.questions,
        )


def _shown(lack: Lack, sight: Sight) -> Lack:
    """An unmet need, without the texts of items that are private to others."""

    def former(one: Former) -> Former:
        return replace(one, text=sight.says(sight.held[one.item].item))

    return replace(lack, last=tuple(map(former, lack.last)), instead=tuple(map(former, lack.instead)))


def _uses(request: Request, decision: Decision) -> Iterator[Use]:
    policy, view = request.policy, decision.view
    yield Use("Items", 0 if view is None else len(view.items), policy.max_items)
    yield Use("Characters", 0 if view is None else view.chars, policy.max_chars)
    yield Use("Private experiences", 0 if view is None else len(view.experiences), policy.max_experiences)
    yield Use("Retractions", len(decision.retractions.listed), policy.max_retractions)
