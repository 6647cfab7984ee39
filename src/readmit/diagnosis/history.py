"""Explain any past return, and recompute it from the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.diagnosis.cause_words import NO_TEXTS, NOTHING, chain, replacements, sentences
from readmit.records.acts.event import EventKind
from readmit.records.acts.forgotten import Forget
from readmit.records.canonical import canonical, digest
from readmit.records.decisions import (
    ConstraintNote,
    Decision,
    Disposition,
    DutyNote,
    Envelope,
    Outcome,
    Returned,
    ReturnView,
)
from readmit.records.error_types import SealError, UnknownError
from readmit.records.items import Drafted, Item
from readmit.records.reasons import Reason, state_of
from readmit.rules.cover.find import Deadline
from readmit.rules.cycle import RULES, decide
from readmit.rules.gate.gates import authorized
from readmit.rules.gate.judge import distinct
from readmit.state.load import requested
from readmit.state.past_returns import dispositions, recorded, worded
from readmit.state.source_looks import sources_in_words
from readmit.text.english import counted
from readmit.text.escapes import one_line
from readmit.trust.private_keys import decode64
from readmit.trust.statement import decode_retractions, decode_view
from readmit.writing.forget import was_forgotten

if TYPE_CHECKING:
    from readmit.log.log import Log
    from readmit.records.identity import Identity
    from readmit.records.retractions import RetractionView
    from readmit.records.snapshot import Snapshot


_STEP = 256


class Explanation(msgspec.Struct, frozen=True):
    """One item in one past return."""

    return_id: str
    kind: str
    disposition: Disposition
    candidate: bool
    """Whether the returning agent could see the item at all."""
    duty: DutyNote | None = None
    """For an obligation: its role in this return."""
    constraint: ConstraintNote | None = None
    """For a constraint: its role in this return."""
    drafted: Drafted | None = None
    """Which model wrote the item, if one did, and the words it quotes."""
    premises: Mapping[str, Disposition] = {}
    """The dispositions of the premises through which it fell."""
    texts: Mapping[str, str] = {}
    """Texts of the items that replaced it or a premise. An operator may read them; the returning agent does not."""
    sources: tuple[str, ...] = ()
    """A sentence for each source: its place, the moment of the last look, and its result."""

    def __str__(self) -> str:
        return " ".join(self.lines())

    def lines(self) -> Iterator[str]:
        """One reason per line, safe to print: names and notes in it are user input."""
        name = self.disposition.item
        said = [*_duty(self.duty)] if self.duty is not None else []
        said += [_bound(self.constraint)] if self.constraint is not None else []
        drafted = [one_line(draft_in_words(self.drafted))] if self.drafted is not None else []
        seen = map(one_line, self.sources)
        reasons = in_words(self.disposition, self.premises, self.texts)
        return (
            f"`{name}` {line.removeprefix('It ')}" if line.startswith(("It fell ", "It stands ")) else f"{name}: {line}"
            for line in (*said, *reasons, *drafted, *seen)
        )


def draft_in_words(drafted: Drafted) -> str:
    """Which model drafted an item, and the words it quotes."""
    return f"Drafted by {drafted.model}" + (f", quote: “{drafted.quote}”." if drafted.quote else ".")


def in_words(
    one: Disposition, judged: Mapping[str, Disposition] = NOTHING, texts: Mapping[str, str] = NO_TEXTS
) -> Iterator[str]:
    """Why an item is in or out, one sentence per reason, safe to print: names and notes in it are user input.

    ``judged`` holds dispositions of premises, so that a chain is named link by link; ``texts`` what items say.
    """
    return map(one_line, sentences(one, judged, texts))


def _bound(note: DutyNote | ConstraintNote) -> str:
    return f"{note.state}. {note.state.doc}"


def _duty(note: DutyNote) -> Iterator[str]:
    yield _bound(note)
    if note.lacks:
        yield f"It lacks {', '.join(note.lacks)}."
    if note.questions:
        yield f"No item meets {', '.join(note.questions)}, which a model planned: that blocks nothing."


def newest_return(log: Log) -> str:
    """The last return that was decided."""
    for _, name in newest_returns(log):
        return name
    raise UnknownError(
        f"workspace {log.workspace!r} has no return yet: an agent departs and comes back first. "
        "`readmit doctor` looks at the workspace as it is"
    )


def newest_returns(log: Log, *, before: int | None = None) -> Iterator[tuple[int, str]]:
    """Decided returns, the last one first, each with the number of its row. Found from the end of the audit."""
    last = log.audit.last if before is None else min(log.audit.last, before - 1)
    while last > 0:
        rows = list(log.audit.rows(first=max(1, last - _STEP + 1), last=last))
        yield from ((row.seq, row.return_id) for row in reversed(rows) if row.kind == "decision")
        last -= _STEP


def drafts(log: Log, return_id: str) -> dict[str, Drafted]:
    """The candidates of a past return that a model drafted, in log order."""
    request = recorded(log, return_id)[0].request
    seen = (event.payload for event in log.seen(request.identity, until=request.epoch))
    return {item.id: item.drafted for item in seen if isinstance(item, Item) and item.drafted is not None}


def explain(log: Log, return_id: str, item_id: str) -> Explanation:
    """Why an item was in or out of a past return."""
    returned, decision = recorded(log, return_id)
    judged = {one.item: one for one in dispositions(log, return_id)}
    if (found := judged.get(item_id)) is not None:
        duty = next((note for note in decision.duties if note.obligation == item_id), None)
        constraint = next((note for note in decision.constraints if note.constraint == item_id), None)
        item, links = log.item(item_id), premises(found, judged)
        return Explanation(
            return_id,
            decision.kind,
            worded(log, found),
            candidate=True,
            duty=duty,
            constraint=constraint,
            drafted=item.drafted,
            premises=links,
            texts={name: log.item(name).text for name in sorted(replacements(found, *links.values()))},
            sources=tuple(sources_in_words(log, item, until=returned.request.epoch)),
        )
    unseen = out_of_sight(log, log.item(item_id), returned.request.identity)
    if unseen is None and returned.request.epoch < _entered(log, item_id):
        raise UnknownError(f"{item_id!r} was not a candidate: it was recorded after return {return_id!r}")
    if unseen is None:
        why = ", ".join(decision.reasons)
        raise UnknownError(f"{item_id!r} was not judged: return {return_id!r} ended before that ({why})")
    return Explanation(return_id, decision.kind, unseen, candidate=False)


def premises(one: Disposition, judged: Mapping[str, Disposition]) -> dict[str, Disposition]:
    """The dispositions that lead from an item to the premises that fell by themselves."""
    links = (name for cause in one.causes if cause.root for name in chain(cause, judged))
    return {name: judged[name] for name in links if name in judged}


def out_of_sight(log: Log, item: Item, identity: Identity) -> Disposition | None:
    """The disposition of an item that an identity cannot see; none if it can."""
    causes = tuple(authorized(item, identity))
    if not causes:
        return None
    reasons = distinct(causes)
    recorded_as = log.named(EventKind.RECORD, item.id)
    return Disposition(
        item=item.id,
        digest=digest(item) if recorded_as is None else recorded_as.digest,
        state=state_of(reasons),
        reasons=reasons,
        causes=causes,
    )


def _entered(log: Log, item_id: str) -> int:
    event = log.named(EventKind.RECORD, item_id)
    return 0 if event is None else event.epoch


class Replay(msgspec.Struct, frozen=True):
    """A past decision beside its recomputation."""

    return_id: str
    kind: str
    candidates: int
    differences: tuple[str, ...] = ()
    skipped: str = ""
    """The fault that the decision rests on: it does not follow from the log."""
    refused: str = ""
    """Why it cannot be recomputed: this release has other rules, or a text that it needs was forgotten."""

    @property
    def matches(self) -> bool:
        return not (self.differences or self.skipped or self.refused)


def _again(returned: Returned, decision: Decision, state: Snapshot) -> Outcome:
    """The decision, with the recorded timeouts of searches."""
    deadline = Deadline.AHEAD
    if returned.timed_out:
        partial = decision.view is not None and decision.view.partial
        unfinished = partial or Reason.COVER_UNDECIDED in decision.reasons
        deadline = Deadline.MET_BY_ALL if unfinished else Deadline.MET
    return decide(returned.request, state, deadline=deadline)


def replay(log: Log, return_id: str) -> Replay:
    """Recompute a past decision from the log and the stored verdicts, and compare bytes."""
    returned, decision = recorded(log, return_id)
    stored = log.audit.decision(return_id)
    if returned.failed or stored is None:
        return Replay(return_id, decision.kind, 0, skipped=f"the decision rests on a fault: {returned.failed}")
    request = returned.request
    if request.rules != RULES:
        why = f"it was decided under version {request.rules} of the rules, and this release has version {RULES}"
        return Replay(return_id, decision.kind, 0, refused=why)
    state = requested(log, log.departure(request.checkpoint), request)
    if why := _forgotten(log, state, request.epoch):
        return Replay(return_id, decision.kind, 0, refused=why)
    outcome = _again(returned, decision, state)
    differences = []
    if canonical(outcome.decision) != stored.body:
        differences.append("decision")
    before, again = list(dispositions(log, return_id)), outcome.dispositions
    if decision.dispositions != outcome.pieces.root:
        if len(before) != len(again):
            differences.append(f"{counted(len(before), 'candidate')} recorded, {len(again)} recomputed")
        differences += [f"disposition of {one.item}" for one, new in zip(before, again, strict=False) if one != new]
    if stored.seal is not None and not _carries(
        stored.envelope(), outcome.decision.view or outcome.decision.retracting
    ):
        differences.append("signed view")
    return Replay(return_id, decision.kind, decision.candidates, tuple(differences))


def _forgotten(log: Log, state: Snapshot, epoch: int) -> str:
    """Which content that a decision at an epoch saw was forgotten later, in words; empty if none was."""
    erased = [event for event in log.milestones(EventKind.FORGET) if event.epoch > epoch]
    if not erased:
        return ""
    held = [*state.state.held.values(), *state.background.held.values()]
    seen = {one.epoch for one in held} | {one.epoch for one in state.evidence.values()}
    seen |= {one.epoch for one in state.state.bank}
    seen |= {mark.epoch for one in held for mark in one.marks}
    gone = {number for one in erased if isinstance(one.payload, Forget) for number in one.payload.erased} & seen
    return was_forgotten(log, min(gone), since=epoch) if gone else ""


def _carries(envelope: Envelope, view: ReturnView | RetractionView | None) -> bool:
    try:
        # Strict base64 and canonical bytes: nothing else can stand for the same view.
        signed = decode64(envelope.payload, "payload")
        return (decode_view(signed) if isinstance(view, ReturnView) else decode_retractions(signed)) == view
    except SealError:
        return False


def looked_in_words(decision: Decision) -> str:
    """The examination for implicit changes in a sentence: verifier, last examined observation, unexamined rest."""
    done = decision.examination
    words = "no examination is on record"
    if done is not None:
        words = f"looked for by {done.verifier} up to epoch {done.until}"
        if done.unexamined:
            words += f", not in {counted(done.unexamined, 'later observation')}"
        if done.nothing_stated:
            words += f"; {counted(done.nothing_stated, 'observation')} read, nothing stated"
    if decision.open_pairs:
        words += f"; {counted(decision.open_pairs, 'open pair')}"
    if decision.unheeded:
        words += f"; no item rests on {counted(decision.unheeded, 'observation')}, and nobody examined them"
    return words
