"""Reason codes, the one state each of them puts an item in, and what else follows from each.

Reason codes are part of the public contract: they are in the audit, in ``explain`` and in the command line's JSON. A
new cause gets a new code; a code never changes its meaning.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import Literal, Self, TypeAlias

Grant: TypeAlias = Literal["restore", "rejustify", "settle"]
"""What an overruling sets aside: what took the item out, its missing premise, or its disputes."""


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
    """The state of a duty or constraint in a return. The first four bind; of the others, the first that holds is it."""

    doc: str
    owed: bool

    @property
    def obstructs(self) -> bool:
        """Whether it binds and cannot be handed over."""
        return self in (DutyState.OBSTRUCTED, DutyState.UNPROVEN)

    def __new__(cls, code: str, doc: str, owed: bool = False) -> Self:  # noqa: FBT001, FBT002 - a table of constants
        member = str.__new__(cls, code)
        member._value_ = code
        member.doc = doc
        member.owed = owed
        return member

    OWED = "owed", "It binds the returning agent.", True
    OVERDUE = "overdue", "Its time has passed, and it is still owed.", True
    OBSTRUCTED = "obstructed", "It binds, but it or its frontier cannot be handed over.", True
    UNPROVEN = "unproven", "It bound at departure, but its author is no longer among the policy's writers.", True
    OTHERS = "others", "It binds others: its scope does not name the returning agent."
    SETTLED = "settled", "It was settled."
    REVOKED = "revoked", "It was withdrawn."
    SUPERSEDED = "superseded", "Another duty, or another constraint, replaced it."
    EXPIRED = "expired", "The time of a constraint has passed. A duty is overdue then."
    OTHER_TASK = "other_task", "It applies to other tasks only."
    OTHER_PURPOSE = "other_purpose", "It serves other purposes than that of this return."
    NOT_BEGUN = "not_begun", "It has not begun yet."
    NOT_IMPOSED = "not_imposed", "Its author is not among the policy's writers, or did not sign it: it binds nobody."
    DRAFTED = "drafted", "A model drafted it, and it does not count."


class Trait(Enum):
    """What else follows from a reason."""

    RESTORABLE = auto()
    """An overseer can restore the item."""
    CONTESTED = auto()
    """An overseer can settle the dispute in the item's favor."""
    VOID = auto()
    """The item counts as never recorded."""


_GRANTS: dict[Trait, Literal["restore", "settle"]] = {Trait.RESTORABLE: "restore", Trait.CONTESTED: "settle"}


class Reason(StrEnum):
    """Why an item is in or out, or why a whole return or exposure ended as it did."""

    doc: str
    state: State | None
    set_aside_by: Literal["restore", "settle"] | None
    """Which grant of an overseer sets it aside, if one does."""
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
        member.set_aside_by = next((grant for trait, grant in _GRANTS.items() if trait in traits), None)
        member.is_void = Trait.VOID in traits
        return member

    # An item is in.
    MANDATORY = "mandatory", "An open obligation of the role, or its current frontier.", State.ADMITTED
    COVERS = "covers", "Supplies a dependency that an open obligation requires.", State.ADMITTED
    CONSTRAINS = (
        "constrains",
        "A constraint that applies to the role, and the policy always hands it over.",
        State.ADMITTED,
    )
    TAKES_PLACE = (
        "takes_place",
        "It quotes the later observation that invalidated an item a duty needs.",
        State.ADMITTED,
    )
    FILLS = "fills", "Eligible, and the policy fills the remaining budget.", State.ADMITTED

    # Gate A: authorization.
    OTHER_WORKSPACE = ("other_workspace", "Belongs to another workspace.", State.UNAUTHORIZED, DutyState.OTHERS)
    PRINCIPAL_OUT_OF_SCOPE = (
        "principal_out_of_scope",
        "Its scope does not name the returning principal.",
        State.UNAUTHORIZED,
        DutyState.OTHERS,
    )
    ROLE_OUT_OF_SCOPE = (
        "role_out_of_scope",
        "Its scope does not name the returning role.",
        State.UNAUTHORIZED,
        DutyState.OTHERS,
    )
    TASK_OUT_OF_SCOPE = (
        "task_out_of_scope",
        "Its scope names another task.",
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
    DISPUTE_LOST = ("dispute_lost", "A dispute about it was resolved against it.", State.REVOKED, Trait.CONTESTED)
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
    DISPUTED = ("disputed", "An open dispute names it.", State.DISPUTED, Trait.CONTESTED)
    SOURCE_CARRIES = (
        "source_carries",
        "Its source changed, and a verifier found that it still holds of what is there now.",
    )
    CONCURRENT_UPDATE = (
        "concurrent_update",
        "Another writer updated the same slot at the same time, neither knew of the other, and nobody has settled it.",
        State.DISPUTED,
        Trait.CONTESTED,
    )
    PREMISE_RESTORED = (
        "premise_restored",
        "A premise it depends on fell, and the same statement was made again from later evidence.",
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
    UNPROVEN = "unproven", "No receipt binds it to evidence.", State.UNPROVEN
    EVIDENCE_MISSING = "evidence_missing", "A receipt names evidence that is not stored.", State.UNPROVEN
    EVIDENCE_ALTERED = "evidence_altered", "Stored evidence does not match the digest of its receipt.", State.UNPROVEN
    REFERENCE_UNBOUND = (
        "reference_unbound",
        "A premise it names or a dependency it claims to support is bound to no evidence.",
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

    DRAFT_NOT_CARRIED = (
        "draft_not_carried",
        "A model drafted it, and the words that it quotes are not in its evidence or do not carry what it says.",
        State.UNPROVEN,
        DutyState.DRAFTED,
        Trait.VOID,
    )
    DRAFT_REFUSED = (
        "draft_refused",
        "A model drafted it, and the policy refuses drafts.",
        State.UNPROVEN,
        DutyState.DRAFTED,
        Trait.VOID,
    )
    DRAFT_UNCONFIRMED = (
        "draft_unconfirmed",
        "A model drafted it, and no confirmation of it counts in this return.",
        State.UNPROVEN,
        DutyState.DRAFTED,
        Trait.VOID,
    )

    # Size and selection.
    TOO_LARGE = "too_large", "Its text exceeds the size of a single item.", State.TOO_LARGE
    NOT_NEEDED = "not_needed", "Eligible, but the duties are covered without it.", State.NOT_NEEDED
    VIEW_WITHHELD = (
        "view_withheld",
        "Eligible and needed, but the return was not admitted, so nothing is handed over.",
        State.WITHHELD,
    )
    DUTY_WITHHELD = (
        "duty_withheld",
        "Eligible, but it belongs to a duty that cannot be covered whole, and the view is partial.",
        State.WITHHELD,
    )

    # Why a return was not admitted.
    COVERAGE_SHORT = "coverage_short", "Eligible evidence does not cover the obligations."
    BUDGET_SHORT = "budget_short", "No sufficient set fits the item and character budgets."
    COVER_UNDECIDED = "cover_undecided", "The solver could not decide within its deadline."
    MANDATORY_MISSING = (
        "mandatory_missing",
        "An open obligation, its frontier, or a constraint that applies is itself not eligible.",
    )
    CONSTRAINTS_SHORT = "constraints_short", "The constraints that apply do not fit beside what covers the duties."
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
    INFERENCE_FAILED = (
        "inference_failed",
        "The search for implicit changes failed before the decision; nothing is handed over.",
    )
    SIGNER_FAILED = "signer_failed", "The view could not be signed."
    INTERNAL_ERROR = "internal_error", "The cycle failed; nothing is handed over."

    # Why an exposure was refused.
    SIGNATURE_INVALID = "signature_invalid", "The envelope does not verify under a trusted key."
    BINDING_MISMATCH = "binding_mismatch", "The view was issued for another agent, task, return or workload."
    VIEW_EXPIRED = "view_expired", "The view is past its expiry."
    VIEW_CONSUMED = "view_consumed", "The view was delivered, and its workload acknowledged it or went on to write."
    VIEW_REPLACED = "view_replaced", "A newer return of the same agent replaced the view."
    DEPARTED_AGAIN = "departed_again", "The agent departed again after the view was issued."
    EPOCH_AHEAD = "epoch_ahead", "The view is newer than the store: the store was rolled back."
    ITEM_NO_LONGER_ELIGIBLE = "item_no_longer_eligible", "An item of the view no longer passes the gates."
    RETRACTION_CHANGED = (
        "retraction_changed",
        "What the view says no longer holds stands again, may not be seen any more, or no longer fits the policy.",
    )
    COVERAGE_LOST = "coverage_lost", "The view no longer covers the obligations, or no longer fits the budgets."

    # Private experience.
    SOURCE_IN_VIEW = "source_in_view", "The item it is bound to is in the view."
    SOURCE_NOT_IN_VIEW = "source_not_in_view", "The item it is bound to is not in the view."
    EXPERIENCE_BUDGET = "experience_budget", "Its source is in the view, but the budget for experiences is spent."

    # Records of a memory backend.
    SOURCES_ADMITTED = "sources_admitted", "Every item it was formed from is in the view.", State.ADMITTED
    SOURCE_NOT_ADMITTED = (
        "source_not_admitted",
        "An item it was formed from is not in the view, or no longer passes the gates.",
        State.UNPROVEN,
    )
    SOURCE_UNKNOWN = "source_unknown", "The items it was formed from are unknown.", State.UNPROVEN
    RECORD_ALTERED = "record_altered", "Its text is not the one that its sources were bound to.", State.UNPROVEN
    RECORD_GONE = (
        "record_gone",
        "Its store no longer holds it: it was deleted there, merged or expired.",
        State.UNPROVEN,
    )
    OTHER_OWNER = "other_owner", "It is in the private bank of another principal.", State.UNAUTHORIZED


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
