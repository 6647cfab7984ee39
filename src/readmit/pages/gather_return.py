"""Gathers the values of a return's page from the log and the audit, with the signatures about it.

The cost grows with the return's candidates and the events between departure and return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.diagnosis.history import looked_in_words
from readmit.diagnosis.missing_needs import past_lacks
from readmit.diagnosis.trial import FIT, Trial, past
from readmit.diagnosis.verification.head_proofs import signed_head, verifier_key
from readmit.pages.gather_believed import believed
from readmit.pages.item_entries import Sight, trees
from readmit.pages.page_values import Happening, Heading, ReturnPage, Seal, ShownDuty, ShownNeed, Tone, Use
from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.canonical import decode
from readmit.records.decisions import Decision, Disposition, Request, Returned, ViewItem
from readmit.records.error_types import ReadmitError, RecordError, SealError
from readmit.records.items import Item, Obligation
from readmit.records.reasons import State
from readmit.records.snapshot import Held, WorkState
from readmit.returning.desk import REHEARSAL
from readmit.rules.capture.fold import fold
from readmit.text.escapes import format_moment
from readmit.trust.notes import LogCheckpoint, verify_note
from readmit.trust.statement import open_either
from readmit.trust.trusted_keys import trusted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from readmit.diagnosis.symptoms import Former, Lack
    from readmit.log.audit_trail import StoredDecision
    from readmit.log.log import Log


def return_values(log: Log, return_id: str, *, now: datetime) -> ReturnPage:
    """The page values of one past return."""
    with log.reading():
        return _gathered(log, return_id, now)


def _gathered(log: Log, return_id: str, now: datetime) -> ReturnPage:
    trial = past(log, return_id)
    departed = log.departure(trial.request.checkpoint)
    return replace(
        trial_values(log, trial, departed, now=now),
        return_id=return_id,
        seals=tuple(seals(log, return_id, now)),
        digests=tuple(digests(log.returned(return_id), trial.decision, departed)),
        deliveries=tuple(deliveries(log, return_id)),
    )


def trial_values(log: Log, trial: Trial, departed: Checkpoint, *, now: datetime) -> ReturnPage:
    """The page values of a decided return, on record or not."""
    request, decision, judged = trial.request, trial.decision, trial.judged
    who = request.identity
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
        verdict=verdict,
        tone=tone,
        reasons=(*(f"{reason.doc} ({reason})" for reason in decision.reasons), *note),
        departed=_point(departed.epoch, departed.at, f"{departed.identity.principal} departed"),
        returned=_point(request.epoch, request.now, f"{who.principal} returned"),
        happenings=tuple(map(sight.worded, _events(log, seen, departed, request))),
        entries=tuple(sight.entry(held[name], judged, entered[name].at) for name in judged),
        fallen=trees(sight, judged),
        believed=believed(sight, judged, departed),
        retractions=decision.retractions,
        news=tuple((item.id, item.news) for item in _viewed(decision) if item.news is not None),
        duties=tuple(_duties(decision, held, judged, trial.links)),
        lacking=tuple(_shown(lack, sight) for lack in past_lacks(trial)),
        uses=tuple(_uses(request, decision)),
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
    if request.return_id != REHEARSAL.return_id:
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
    yield Use("Items", 0 if view is None else len(view.items), policy.budgets.items)
    yield Use("Characters", 0 if view is None else view.chars, policy.budgets.chars)
    yield Use("Private experiences", 0 if view is None else len(view.experiences), policy.budgets.experiences)
    yield Use("Retractions", len(decision.retractions.listed), policy.budgets.retractions)


NO_KEY = "none"


def seals(log: Log, return_id: str, now: datetime) -> Iterator[Seal]:
    """The signed view or retractions, if the return has any, and the signed head of the log that covers its rows."""
    stored = log.audit.decision(return_id)
    keys = trusted(log.milestones(EventKind.KEY), now)
    if stored is not None and stored.seal is not None:
        decision = decode(stored.body, Decision, what="decision")
        what = "Return view" if decision.view is not None else "Retractions"
        try:
            envelope = stored.envelope()
            view = open_either(envelope, keys)
        except (RecordError, SealError) as error:
            yield Seal(what=what, key=NO_KEY, verifies=False, note=str(error))
        else:
            note = f"Issued {format_moment(view.issued)}, to be handed over before {format_moment(view.expires)}."
            yield Seal(what=what, key=envelope.signatures[0].keyid, verifies=True, note=note)
    if stored is not None:
        yield _of_log(log, stored, keys)


def _of_log(log: Log, stored: StoredDecision, keys: Mapping[str, bytes]) -> Seal:
    """The signed head of the log, which covers the rows of the return."""
    what = "Log"
    try:
        note = signed_head(log)
        signers = {verifier_key(log, public): key for key, public in keys.items()}
        text, found = verify_note(note, signers)
        key = signers[found[0].key] if found else NO_KEY
    except ReadmitError as error:
        return Seal(what=what, key=NO_KEY, verifies=False, note=str(error))
    size = LogCheckpoint.from_text(text).size
    said = f"Signed up to commit {size}, which covers rows {stored.first} to {stored.last} of this return."
    return Seal(what=what, key=key, verifies=bool(found), note=said)


def digests(returned: Returned, decision: Decision, departed: Checkpoint) -> Iterator[tuple[str, str]]:
    """The digests of a decision's inputs."""
    yield "Decision", returned.decision
    yield "Dispositions", decision.dispositions
    yield "Checkpoint", departed.digest
    if decision.view is not None:
        yield "Items of the view", decision.view.items_digest
        yield "Policy", decision.view.policy


def deliveries(log: Log, return_id: str) -> Iterator[str]:
    """Whether the view was handed over and arrived."""
    for kind, words in ((EventKind.EXPOSE, "Handed over"), (EventKind.ACKNOWLEDGE, "Acknowledged")):
        if (event := log.named(kind, return_id)) is not None:
            yield f"{words} on {format_moment(event.at)}, epoch {event.epoch}."
