"""Reason codes, the one state each of them puts an item in, and what else follows from each.

Reason codes are part of the public contract: they are in the audit, in ``explain`` and in the command line's JSON. A
new cause gets a new code; a code never changes its meaning.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import Self


class State(StrEnum):
    """The state of an item after a return. An item is in exactly one."""

    ADMITTED = "admitted"
    UNAUTHORIZED = "unauthorized"
    REVOKED = "revoked"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    PREMISE_CHANGED = "premise_changed"
    SOURCE_CHANGED = "source_changed"
    SUSPECTED = "suspected"
    DISPUTED = "disputed"
    NOT_APPLICABLE = "not_applicable"
    UNPROVEN = "unproven"
    TOO_LARGE = "too_large"
    WITHHELD = "withheld"
    NOT_NEEDED = "not_needed"


class DutyState(StrEnum):
    """The state of a duty or constraint in a return. The first three bind; of the others, the first holds."""

    doc: str
    owed: bool

    @property
    def obstructs(self) -> bool:
        """Whether it binds and cannot be handed over."""
        return self is DutyState.OBSTRUCTED

    def __new__(cls, code: str, doc: str, owed: bool = False) -> Self:  # noqa: FBT001, FBT002 - a table of constants
        member = str.__new__(cls, code)
        member._value_ = code
        member.doc = doc
        member.owed = owed
        return member

    OWED = "owed", "It binds the returning agent.", True
    OVERDUE = "overdue", "Its time has passed, and it is still owed.", True
    OBSTRUCTED = "obstructed", "It binds, but it or its frontier cannot be handed over.", True
    OTHERS = "others", "It binds others: its scope does not name the returning agent."
    SETTLED = "settled", "It was settled."
    REVOKED = "revoked", "It was withdrawn."
    SUPERSEDED = "superseded", "Another duty, or another constraint, replaced it."
    EXPIRED = "expired", "The time of a constraint has passed. A duty is overdue then."
    OTHER_TASK = "other_task", "It applies to other tasks only."
    OTHER_PURPOSE = "other_purpose", "It serves other purposes than that of this return."
    NOT_BEGUN = "not_begun", "It has not begun yet."
    NOT_IMPOSED = (
        "not_imposed",
        "It binds nobody: its author is no allowed writer or did not sign it, or a model drafted it.",
    )


class Trait(Enum):
    """Side effects of a reason."""

    RESTORABLE = auto()
    """An overseer can restore the item."""
    VOID = auto()
    """The item counts as never recorded."""


class Reason(StrEnum):
    """Why an item is in or out, or why a whole return or exposure ended as it did."""

    doc: str
    state: State | None
    restorable: bool
    """Whether an overseer can restore the item."""
    ends_duty: DutyState | None
    """The state of a duty or a constraint with this reason, if it then no longer binds."""
    is_void: bool
    """Whether the item counts as never recorded: it neither moves a frontier nor withholds one."""

    def __new__(cls, code: str, doc: str, *traits: State | DutyState | Trait) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.doc = doc
        member.state = next((one for one in traits if isinstance(one, State)), None)
        member.ends_duty = next((one for one in traits if isinstance(one, DutyState)), None)
        member.restorable = Trait.RESTORABLE in traits
        member.is_void = Trait.VOID in traits
        return member

    # An item is in.
    MANDATORY = (
        "mandatory",
        "An open obligation of the role, its current frontier, or a constraint that applies to the role.",
        State.ADMITTED,
    )
    COVERS = (
        "covers",
        "Supplies a dependency that an open obligation requires, or quotes what invalidated the item that did.",
        State.ADMITTED,
    )
    FILLS = "fills", "Eligible, and the policy fills the remaining budget.", State.ADMITTED

    # Gate A: authorization.
    PRINCIPAL_OUT_OF_SCOPE = (
        "principal_out_of_scope",
        "It is for other principals, in another's private bank, or in another workspace.",
        State.UNAUTHORIZED,
        DutyState.OTHERS,
    )
    OUT_OF_SCOPE = (
        "out_of_scope",
        "Its scope names other roles, or another task.",
        State.UNAUTHORIZED,
        DutyState.OTHERS,
    )

    # Gate T: time, lifecycle, premises, disputes.
    REVOKED = (
        "revoked",
        "An explicit event withdrew it: it should not have been relied on.",
        State.REVOKED,
        Trait.RESTORABLE,
        DutyState.REVOKED,
    )
    DISPUTE_LOST = ("dispute_lost", "A dispute about it was resolved against it.", State.REVOKED, Trait.RESTORABLE)
    SUPERSEDED = (
        "superseded",
        "An explicit event names its replacement.",
        State.SUPERSEDED,
        Trait.RESTORABLE,
        DutyState.SUPERSEDED,
    )
    SLOT_UPDATED = (
        "slot_updated",
        "A sourced item that begins later says something new about the same slot.",
        State.SUPERSEDED,
        Trait.RESTORABLE,
        DutyState.SUPERSEDED,
    )
    SLOT_CONTESTED = (
        "slot_contested",
        "A newer statement about the same slot is disputed or suspected: until that is settled neither stands.",
        State.DISPUTED,
        Trait.RESTORABLE,
    )
    FRONTIER_MOVED = "frontier_moved", "A later frontier of the same obligation replaced it.", State.SUPERSEDED
    SETTLED = (
        "settled",
        "The obligation was settled, so it and its frontier no longer bind.",
        State.SUPERSEDED,
        DutyState.SETTLED,
    )
    EXPIRED = (
        "expired",
        "Its validity interval ended.",
        State.EXPIRED,
        Trait.RESTORABLE,
        DutyState.EXPIRED,
    )
    NOT_YET_VALID = (
        "not_yet_valid",
        "Its validity interval has not begun.",
        State.NOT_YET_VALID,
        DutyState.NOT_BEGUN,
    )
    PREMISE_CHANGED = (
        "premise_changed",
        "A premise it depends on no longer holds: it is out, or a verified later observation invalidates it.",
        State.PREMISE_CHANGED,
        Trait.RESTORABLE,
    )
    SUSPECTED = (
        "suspected",
        "A later observation may change its premise, and no verdict settles that.",
        State.SUSPECTED,
        Trait.RESTORABLE,
    )
    SOURCE_CHANGED = (
        "source_changed",
        "The place that its evidence was read from says something else now, or is gone.",
        State.SOURCE_CHANGED,
        Trait.RESTORABLE,
    )
    SOURCE_UNCONFIRMED = (
        "source_unconfirmed",
        "Its source changed. A verifier found that it still holds of what is there now, and nobody has confirmed that.",
        State.SOURCE_CHANGED,
        Trait.RESTORABLE,
    )
    SOURCE_UNSEEN = (
        "source_unseen",
        "The place that its evidence was read from could not be looked at, so it may have changed.",
        State.SUSPECTED,
        Trait.RESTORABLE,
    )
    DISPUTED = ("disputed", "An open dispute names it.", State.DISPUTED, Trait.RESTORABLE)
    CONCURRENT_UPDATE = (
        "concurrent_update",
        "Another writer updated the same slot at the same time, neither knew of the other, and nobody has settled it.",
        State.DISPUTED,
        Trait.RESTORABLE,
    )
    RECOVERED = (
        "recovered",
        "What was against it no longer is: its changed source still says it, or its fallen premise was stated again.",
    )

    # Gate U: applicability.
    KIND_NOT_ADMITTED = "kind_not_admitted", "The policy admits no item of its kind.", State.NOT_APPLICABLE
    OTHER_TASK = ("other_task", "It applies to other tasks only.", State.NOT_APPLICABLE, DutyState.OTHER_TASK)
    OTHER_PURPOSE = (
        "other_purpose",
        "It serves other purposes only.",
        State.NOT_APPLICABLE,
        DutyState.OTHER_PURPOSE,
    )

    # Gate P: provenance.
    UNPROVEN = (
        "unproven",
        "No receipt binds it, a premise it names, or a dependency it claims to support to evidence.",
        State.UNPROVEN,
    )
    EVIDENCE_MISSING = (
        "evidence_missing",
        "A receipt names evidence that is not stored, or whose stored bytes do not match its digest.",
        State.UNPROVEN,
    )
    WRITER_NOT_ALLOWED = (
        "writer_not_allowed",
        "It, or evidence behind it, was issued by a principal outside the policy's writers.",
        State.UNPROVEN,
        Trait.VOID,
    )
    WRITER_NOT_SIGNED = (
        "writer_not_signed",
        "It, or evidence behind it, has no valid signature of its writer, and the policy of that time required one.",
        State.UNPROVEN,
        DutyState.NOT_IMPOSED,
        Trait.VOID,
    )

    DRAFT_REFUSED = (
        "draft_refused",
        "A model drafted it, and the policy refuses drafts, or its evidence does not carry what it says.",
        State.UNPROVEN,
        DutyState.NOT_IMPOSED,
        Trait.VOID,
    )
    DRAFT_UNCONFIRMED = (
        "draft_unconfirmed",
        "A model drafted it, and no confirmation of it counts in this return.",
        State.UNPROVEN,
        DutyState.NOT_IMPOSED,
        Trait.VOID,
    )

    # Size and selection.
    TOO_LARGE = "too_large", "Its text exceeds the size of a single item, or an experience its budget.", State.TOO_LARGE
    NOT_NEEDED = "not_needed", "Eligible, but the duties are covered without it.", State.NOT_NEEDED
    WITHHELD = (
        "withheld",
        "Eligible and needed, but the return was not admitted, or its duty cannot be covered whole.",
        State.WITHHELD,
    )

    # Why a return was not admitted.
    COVERAGE_SHORT = "coverage_short", "Eligible evidence does not cover the obligations."
    BUDGET_SHORT = "budget_short", "No sufficient set, with the constraints that apply, fits the budgets."
    COVER_UNDECIDED = "cover_undecided", "The solver could not decide within its deadline."
    MANDATORY_MISSING = (
        "mandatory_missing",
        "An open obligation, its frontier, or a constraint that applies is itself not eligible.",
    )
    NOTHING_OWED = "nothing_owed", "No duty applies to this return, and the policy hands over nothing then."
    NOT_EXAMINED = (
        "not_examined",
        "The policy requires that implicit changes were looked for up to the newest observation, and they were not.",
    )
    CLOCK_SKEW = (
        "clock_skew",
        "The clock lags behind the last moment the log has learnt by more than the policy's max_clock_skew.",
    )
    CHECKPOINT_ALTERED = "checkpoint_altered", "What was visible at departure no longer matches its checkpoint."
    LOG_ALTERED = "log_altered", "What was read is not all and only what the signed log holds for the reader."
    SIGNER_FAILED = "signer_failed", "The view could not be signed."
    INTERNAL_ERROR = (
        "internal_error",
        "The cycle, or the search for implicit changes before it, failed; nothing is handed over.",
    )

    # Why an exposure was refused.
    SIGNATURE_INVALID = "signature_invalid", "The envelope does not verify under a trusted key."
    BINDING_MISMATCH = "binding_mismatch", "The view was issued for another agent, task, return or workload."
    VIEW_EXPIRED = "view_expired", "The view is past its expiry."
    VIEW_CONSUMED = (
        "view_consumed",
        "The view was delivered, and its workload acknowledged it, went on to write, or departed again.",
    )
    VIEW_REPLACED = "view_replaced", "A newer return of the same agent replaced the view."
    EPOCH_AHEAD = "epoch_ahead", "The view is newer than the store: the store was rolled back."
    VIEW_OUTDATED = (
        "view_outdated",
        "The view is no longer what a return would hand over: an item, a retraction or the coverage changed.",
    )

    # Private experience, and records of a memory backend.
    SOURCE_IN_VIEW = "source_in_view", "Every item it was formed from is in the view.", State.ADMITTED
    SOURCE_NOT_IN_VIEW = (
        "source_not_in_view",
        "An item it was formed from is not in the view, or no longer passes the gates.",
        State.UNPROVEN,
    )

    RECORD_UNBOUND = (
        "record_unbound",
        "The items it was formed from are unknown: it was stored past readmit, altered, or removed from its store.",
        State.UNPROVEN,
    )


# When several reasons hold, the item is in the first of their states. Authorization comes first, so that nothing else
# is revealed about what a principal may not see; then acts of people, then time, then inference, then provenance.
PRECEDENCE: tuple[State, ...] = (
    State.UNAUTHORIZED,
    State.REVOKED,
    State.SUPERSEDED,
    State.EXPIRED,
    State.NOT_YET_VALID,
    State.SOURCE_CHANGED,
    State.PREMISE_CHANGED,
    State.DISPUTED,
    State.SUSPECTED,
    State.NOT_APPLICABLE,
    State.UNPROVEN,
    State.TOO_LARGE,
    State.WITHHELD,
    State.NOT_NEEDED,
    State.ADMITTED,
)

_RANK = {state: rank for rank, state in enumerate(PRECEDENCE)}


def state_of(reasons: tuple[Reason, ...]) -> State:
    """The one state that an item's reasons put it in."""
    if len(reasons) == 1 and reasons[0].state is not None:
        return reasons[0].state
    return min((reason.state for reason in reasons if reason.state is not None), key=_RANK.__getitem__)
