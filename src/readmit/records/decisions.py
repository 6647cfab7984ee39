"""The results of a return: dispositions, the selection, its coverage, the view, the decision."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.records.acts.operation import Jump
from readmit.records.base import Count, Digest, Id, Name, Note, Record, Time
from readmit.records.canonical import Pieces, cut
from readmit.records.identity import Identity
from readmit.records.items import Kind
from readmit.records.policy import Policy, Positive
from readmit.records.probes import Finding
from readmit.records.reasons import DutyState, Reason, State
from readmit.records.retractions import Retractions, RetractionView

if TYPE_CHECKING:
    from datetime import datetime


class Cause(Record, kw_only=True, gc=False):
    """One reason and its basis: the event's epoch, the item or evidence that caused it, and a note."""

    reason: Reason
    epoch: Count | None = None
    ref: Note = ""
    by: Note = ""
    note: Note = ""
    root: Note = ""
    """For a premise that changed or was restored: the one at the end of the chain, which fell by itself. For a changed
    one, ``ref`` is the item's own premise, and its disposition leads on."""


class Disposition(Record, kw_only=True, gc=False):
    """The disposition of one candidate, with every reason of every gate."""

    item: Id
    digest: Digest
    state: State
    reasons: tuple[Reason, ...]
    causes: tuple[Cause, ...] = ()
    """Of each reason the newest, 16 at most, so that no disposition grows with the acts against one item."""
    overruled: tuple[Cause, ...] = ()
    """Rejections that an overseer's event set aside."""
    recovered: tuple[Cause, ...] = ()
    """Premises that fell and were re-established, each with the item that now stands for it."""
    unseen: tuple[Cause, ...] = ()
    """Sources that could not be looked at, although that does not take the item out."""

    @property
    def admitted(self) -> bool:
        return self.state is State.ADMITTED


class CoverageReport(Record, kw_only=True):
    """``Cov`` and ``Crit`` of a set as exact counts, and the missing dependencies."""

    obligations: Count
    covered: Count
    critical: Count
    critical_covered: Count
    missing: tuple[Id, ...] = ()
    uncovered: tuple[Id, ...] = ()
    """Obligations that lack at least one dependency."""

    @property
    def coverage(self) -> Fraction:
        return Fraction(self.covered, self.obligations) if self.obligations else Fraction(1)

    @property
    def critical_coverage(self) -> Fraction:
        return Fraction(self.critical_covered, self.critical) if self.critical else Fraction(1)


class DutyNote(Record, kw_only=True):
    """One duty that a return considered, and its outcome."""

    obligation: Id
    state: DutyState
    handed_over: bool = False
    """Whether the view holds it, with everything it requires."""
    lacks: tuple[Id, ...] = ()
    """Required dependencies that nothing eligible supports."""
    questions: tuple[Id, ...] = ()
    """Needs that a model planned and no item meets. They are shown, and block nothing."""


class ConstraintNote(Record, kw_only=True):
    """One constraint that a return considered, and its outcome."""

    constraint: Id
    state: DutyState
    handed_over: bool = False
    """Whether the view holds it, or says the same in another recording."""


class Examination(Record, kw_only=True):
    """Which verifier looked for implicit changes before a return, and up to which epoch."""

    verifier: Name
    until: Count
    """The last epoch whose observations were examined."""
    unexamined: Count = 0
    """Observations since then that the agent can see."""
    nothing_stated: Count = 0
    """Examined observations that an extractor read whole and found no statement in: no pair was made of them."""


class Selection(Record, kw_only=True):
    """The chosen set, or why there is none."""

    outcome: Literal["found", "infeasible", "undecided"]
    items: tuple[Id, ...] = ()
    mandatory: tuple[Id, ...] = ()
    constraints: tuple[Id, ...] = ()
    """Constraints that the policy always hands over."""
    instead: tuple[Id, ...] = ()
    """Drafts that quote what invalidated an item a duty needs."""
    fill: tuple[Id, ...] = ()
    cost: Count = 0
    chars: Count = 0
    solver: Literal["greedy", "exact"] = "greedy"
    timed_out: bool = False
    reasons: tuple[Reason, ...] = ()
    report: CoverageReport
    absent: tuple[Id, ...] = ()
    """Mandatory records that are missing: ineligible duties, frontiers or constraints, or constraints over budget."""
    withheld: tuple[Id, ...] = ()
    """Duties left out of a partial view."""


class ViewItem(Record, kw_only=True):
    """An item of a view, by digest."""

    id: Id
    digest: Digest
    kind: Kind
    news: Literal["new", "confirmed"] | None = None
    """Its news since departure: the statement itself, or that it was said again from later evidence."""
    since: Time | None = None
    """From when it counts: the start of its validity, or when its latest evidence was said."""


class ViewExperience(Record, kw_only=True):
    """A private experience of a view, by digest."""

    id: Id
    digest: Digest
    bound_to: Id


class ViewSource(Record, kw_only=True):
    """The freshness of the sources of one item of a view."""

    item: Id
    seen: Time
    """When all of them were last looked at."""
    finding: Finding
    """The finding: of several, the most doubtful."""


class ReturnView(Record, kw_only=True):
    """The bounded bundle, bound to one return of one workload at one epoch."""

    return_id: Id
    identity: Identity
    instance: Id
    purpose: Name | None = None
    epoch: Count
    issued: Time
    expires: Time
    nonce: Id
    items: tuple[ViewItem, ...]
    items_digest: Digest
    chars: Count
    experiences: tuple[ViewExperience, ...] = ()
    coverage: CoverageReport
    policy: Digest
    checkpoint: Digest
    withheld: tuple[Id, ...] = ()
    """Owed duties that are not in this view, which is then partial."""
    overdue: tuple[Id, ...] = ()
    """Duties of this view that are overdue."""
    questions: tuple[Id, ...] = ()
    """Needs of these duties that a model planned and no item meets."""
    doubted: tuple[Id, ...] = ()
    """Drafts of this view that a later observation may have ended: suspected, and not settled."""
    examination: Examination | None = None
    """The latest examination for implicit changes, if any."""
    open_pairs: Count = 0
    """Suspected changes that no verdict has settled."""
    unheeded: Count = 0
    """Observations of the absence that no item rests on and no examination covers."""
    sources: tuple[ViewSource, ...] = ()
    """The items whose sources can be looked at again, and how fresh each is."""
    retractions: Retractions = Retractions()
    """Items that the agent held at departure, or was handed since, and should no longer rely on."""

    @property
    def partial(self) -> bool:
        return bool(self.withheld)


class Envelope(Record, kw_only=True):
    """A DSSE envelope: the signed bytes, base64, and who signed them."""

    payload: str
    payloadType: str  # noqa: N815 - the field's name in the DSSE protocol
    signatures: tuple[Signature, ...]


class Signature(Record, kw_only=True):
    """One DSSE signature."""

    keyid: str
    sig: str


class Request(Record, kw_only=True):
    """Every input of a return besides the log. Recorded, so that a replay repeats it."""

    return_id: Id
    identity: Identity
    instance: Id
    nonce: Id
    purpose: Name | None = None
    now: Time
    policy: Policy
    checkpoint: Id
    epoch: Count
    """The epoch whose state is judged."""
    rules: Positive
    """The version of the rules that decide. Only these repeat the decision."""
    learnt: Time | None = None
    """The last moment that the log had learnt."""
    jump: Jump | None = None
    """The event by which that moment is too far ahead of the clock, if it is."""
    examination: Examination | None = None

    @property
    def moment(self) -> datetime:
        """The moment that is judged: never earlier than what the log has learnt."""
        return self.now if self.learnt is None else max(self.now, self.learnt)


class ExperienceNote(Record, kw_only=True):
    """The disposition of one private experience."""

    experience: Id
    bound_to: Id
    reason: Reason


class Decision(Record, kw_only=True):
    """The outcome of one return. ``admitted`` carries a view; the other two hand over no item."""

    kind: Literal["admitted", "blocked", "reset"]
    return_id: Id
    epoch: Count
    reasons: tuple[Reason, ...] = ()
    note: Note = ""
    report: CoverageReport
    candidates: Count = 0
    dispositions: Digest
    """The name of the piece of the audit that leads to every candidate's disposition, in order."""
    experiences: tuple[ExperienceNote, ...] = ()
    view: ReturnView | None = None
    retracting: RetractionView | None = None
    """The retractions that a return hands over although it was blocked for what it lacks."""
    solver: Literal["greedy", "exact"] = "greedy"
    timed_out: bool = False
    """The solver ran into its deadline. Recorded, because a replay cannot rediscover it."""
    duties: tuple[DutyNote, ...] = ()
    """Every duty that was considered, in log order."""
    constraints: tuple[ConstraintNote, ...] = ()
    """Every constraint that was considered, in log order; none if the policy selects them as needed."""
    absent: tuple[Id, ...] = ()
    """Mandatory records that could not be handed over, by id."""
    examination: Examination | None = None
    open_pairs: Count = 0
    unheeded: Count = 0
    """Observations of the absence that no item rests on and no examination covers."""

    def __repr__(self) -> str:
        named = self.missing if self.view is None else tuple(item.id for item in self.view.items)
        said = f", {'missing' if self.view is None else 'with'} {', '.join(named)}" if named else ""
        return f"<Decision on return {self.return_id} at epoch {self.epoch}: {self.kind}{said}>"

    @property
    def admitted(self) -> bool:
        return self.kind == "admitted"

    @property
    def missing(self) -> tuple[str, ...]:
        return self.report.missing

    @property
    def retractions(self) -> Retractions:
        """The retractions that the agent learns of, with the view or without one."""
        handed = self.view or self.retracting
        return Retractions() if handed is None else handed.retractions

    @property
    def faults(self) -> tuple[Reason, ...]:
        """The failures that the decision is due to, if any. Such a return claims no coverage."""
        return tuple(reason for reason in self.reasons if reason in FAULTS)


# The cycle failed or its inputs could not be trusted.
FAULTS = frozenset(
    {
        Reason.CHECKPOINT_ALTERED,
        Reason.LOG_ALTERED,
        Reason.CLOCK_SKEW,
        Reason.INTERNAL_ERROR,
        Reason.SIGNER_FAILED,
    }
)


NO_CANDIDATES = cut((), ())


class Outcome(msgspec.Struct, frozen=True):
    """A decision, and the disposition of each candidate, in log order and as pieces of the audit."""

    decision: Decision
    dispositions: tuple[Disposition, ...] = ()
    pieces: Pieces = NO_CANDIDATES


class Returned(Record, kw_only=True):
    """A return on the log: its request, and the digest of its decision."""

    request: Request
    kind: Literal["admitted", "blocked", "reset"]
    decision: Digest
    timed_out: bool = False
    failed: Note = ""
    """Set when the cycle failed: such a decision does not follow from the log and is not replayed."""

    @property
    def starts_anew(self) -> bool:
        """Whether this reset ended the absence. After a fault it did not."""
        return self.kind == "reset" and not self.failed
