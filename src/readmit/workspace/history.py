"""Explain any past return, and recompute it from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.cover.find import Deadline
from readmit.cycle import decide
from readmit.gate.gates import authorized
from readmit.gate.judge import distinct
from readmit.records.canonical import canonical, decode, digest, digest_of
from readmit.records.decisions import Cause, Decision, Disposition, DutyNote, Envelope, Returned
from readmit.records.errors import SealError, TamperedError, UnknownError
from readmit.records.events import EventKind
from readmit.records.items import Drafted, Item
from readmit.records.reasons import Reason, state_of
from readmit.records.wording import counted
from readmit.rules_1 import decide as rules_1
from readmit.seal.render import escaped
from readmit.seal.signatures import decode64
from readmit.seal.statement import decode_view
from readmit.workspace.loading import requested
from readmit.workspace.sources import sources_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.ports.store import Log
    from readmit.records.decisions import Outcome, ReturnView
    from readmit.records.identity import Identity
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
    """For an obligation: what it was to this return."""
    drafted: Drafted | None = None
    """Which model wrote the item, if one did, and the words it quotes."""
    sources: tuple[str, ...] = ()
    """Where its evidence was read, when that place was last looked at, and what was found; a sentence each."""

    def __str__(self) -> str:
        return "; ".join(self.lines())

    def lines(self) -> Iterator[str]:
        """One reason per line, safe to print: names and notes in it are user input."""
        name = self.disposition.item
        said = [*_duty(self.duty)] if self.duty is not None else []
        drafted = [" ".join(escaped(draft_in_words(self.drafted)).split())] if self.drafted is not None else []
        seen = (" ".join(escaped(line).split()) for line in self.sources)
        return (f"{name}: {line}" for line in (*said, *in_words(self.disposition), *drafted, *seen))


def draft_in_words(drafted: Drafted) -> str:
    """Which model drafted an item, and the words it quotes."""
    return f"Drafted by {drafted.model}" + (f", quote: “{drafted.quote}”." if drafted.quote else ".")


def in_words(one: Disposition) -> Iterator[str]:
    """Why an item is in or out, one sentence per reason, safe to print: names and notes in it are user input."""
    return (" ".join(escaped(line).split()) for line in _sentences(one))


def _sentences(one: Disposition) -> Iterator[str]:
    if not one.causes:
        yield from (reason.doc for reason in one.reasons)
    for cause in one.causes:
        chain = f" Chain: {' ← '.join((one.item, *cause.chain))}." if cause.chain else ""
        yield f"{cause.reason.doc}{chain}{_details(cause)}"
    for cause in one.recovered:
        if cause.reason is Reason.SOURCE_CARRIES:
            yield f"{cause.reason.doc} Found by {cause.by}, quote: “{cause.note}”."
            continue
        fell = cause.chain[0] if cause.chain else "a premise"
        yield f"It stands again through {cause.ref}, which says from later evidence what {fell} said."
    for cause in one.unseen:
        yield f"{cause.reason.doc}{_details(cause)} It supports nothing critical, so that does not take it out."
    for cause in one.overruled:
        yield f"{cause.reason.doc} But {cause.note}"


def _details(cause: Cause) -> str:
    """The basis of a cause, as a sentence."""
    labels = (("by", cause.ref), ("at epoch", cause.epoch), ("written by", cause.by))
    parts = [f"{label} {value}" for label, value in labels if value]
    if cause.note:
        parts.append(f"because {cause.note}" if parts else cause.note)
    words = ", ".join(parts)
    return f" {words[0].upper()}{words[1:].removesuffix('.')}." if words else ""


def _duty(note: DutyNote) -> Iterator[str]:
    yield f"{note.state}. {note.state.doc}"
    if note.lacks:
        yield f"It lacks {', '.join(note.lacks)}."
    if note.questions:
        yield f"No item ever met {', '.join(note.questions)}, which a model planned: that blocks nothing."


def recorded(log: Log, return_id: str) -> tuple[Returned, Decision]:
    """A past return, from the log and the audit."""
    returned, stored = log.returned(return_id), log.audit.decision(return_id)
    if stored is None:
        raise UnknownError(f"no decision is filed for return {return_id!r}; see `readmit audit verify`")
    if digest_of(stored.body) != returned.decision:
        raise TamperedError(f"the decision of return {return_id!r} is not the one in the log: it was altered")
    return returned, decode(stored.body, Decision, what="decision")


def newest_return(log: Log) -> str:
    """The last return that was decided, found from the end of the audit."""
    last = log.audit.last
    while last > 0:
        rows = list(log.audit.rows(first=max(1, last - _STEP + 1), last=last))
        if found := [row.return_id for row in rows if row.kind == "decision"]:
            return found[-1]
        last -= _STEP
    raise UnknownError(
        f"workspace {log.workspace!r} has no return yet: an agent departs and comes back first. "
        "`readmit doctor` looks at the workspace as it is"
    )


def dispositions(log: Log, return_id: str) -> Iterator[Disposition]:
    """Every candidate of a past return, in log order."""
    recorded(log, return_id)
    stored = log.audit.decision(return_id)
    if stored is not None:
        for row in log.audit.rows(first=stored.first, last=stored.last):
            if row.kind == "candidate":
                yield decode(row.body, Disposition, what=f"audit row {row.seq}")


def drafts(log: Log, return_id: str) -> dict[str, Drafted]:
    """The candidates of a past return that a model drafted, in log order."""
    request = recorded(log, return_id)[0].request
    seen = (event.payload for event in log.seen(request.identity, until=request.epoch))
    return {item.id: item.drafted for item in seen if isinstance(item, Item) and item.drafted is not None}


def explain(log: Log, return_id: str, item_id: str) -> Explanation:
    """Why an item was in or out of a past return."""
    returned, decision = recorded(log, return_id)
    for found in dispositions(log, return_id):
        if found.item == item_id:
            duty = next((note for note in decision.duties if note.obligation == item_id), None)
            item = log.item(item_id)
            return Explanation(
                return_id,
                decision.kind,
                found,
                candidate=True,
                duty=duty,
                drafted=item.drafted,
                sources=tuple(sources_in_words(log, item, until=returned.request.epoch)),
            )
    unseen = out_of_sight(log.item(item_id), returned.request.identity)
    if unseen is None and returned.request.epoch < _entered(log, item_id):
        raise UnknownError(f"{item_id!r} was not a candidate: it was recorded after return {return_id!r}")
    if unseen is None:
        why = ", ".join(decision.reasons)
        raise UnknownError(f"{item_id!r} was not judged: return {return_id!r} ended before that ({why})")
    return Explanation(return_id, decision.kind, unseen, candidate=False)


def out_of_sight(item: Item, identity: Identity) -> Disposition | None:
    """The disposition of an item that an identity cannot see; none if it can."""
    causes = tuple(authorized(item, identity))
    if not causes:
        return None
    reasons = distinct(causes)
    return Disposition(item=item.id, digest=digest(item), state=state_of(reasons), reasons=reasons, causes=causes)


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
    """Why it was not recomputed."""

    @property
    def matches(self) -> bool:
        return not self.differences and not self.skipped


def _again(returned: Returned, decision: Decision, state: Snapshot) -> Outcome:
    """The decision under the rules that its request names, with the recorded timeouts of searches."""
    if returned.request.rules == 1:
        return rules_1.decide(returned.request, state, timed_out=returned.timed_out)
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
    outcome = _again(returned, decision, requested(log, log.departure(request.checkpoint), request))
    differences = []
    if canonical(outcome.decision) != stored.body:
        differences.append("decision")
    rows = [row for row in log.audit.rows(first=stored.first, last=stored.last) if row.kind == "candidate"]
    if len(rows) != len(outcome.rows):
        differences.append(f"{counted(len(rows), 'candidate')} recorded, {len(outcome.rows)} recomputed")
    differences += [
        f"disposition of {row.item}" for row, again in zip(rows, outcome.rows, strict=False) if row.body != again
    ]
    if stored.envelope is not None and outcome.decision.view is not None:
        envelope = decode(stored.envelope, Envelope, what="envelope")
        if not _carries(envelope, outcome.decision.view):
            differences.append("signed view")
    return Replay(return_id, decision.kind, len(rows), tuple(differences))


def _carries(envelope: Envelope, view: ReturnView) -> bool:
    try:
        # Strict base64 and canonical bytes: nothing else can stand for the same view.
        return decode_view(decode64(envelope.payload, "payload")) == view
    except SealError:
        return False
