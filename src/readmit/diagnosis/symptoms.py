"""Values of a diagnosis: symptoms, their grounds and remedies."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

import msgspec

from readmit.records.identity import Identity
from readmit.records.reasons import Reason, State
from readmit.records.remedies import Remedy

MOST = 3
"""Most items named for one kind of trouble."""


class Trouble(StrEnum):
    """The kind of a problem, the most useful first. Part of the public contract, like reasons."""

    doc: str

    def __new__(cls, code: str, doc: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.doc = doc
        return member

    # What happened since.
    MENDED = "mended", "What was lacking has been met since: the agent can return again."
    BACK = "back", "The agent has come back since, by a later return."

    # What ended the return.
    FAULT = "fault", "The return failed before anything was judged."
    NO_KEY = "no_key", "The workspace has no key to sign with."
    NOT_DEPARTED = "not_departed", "The agent has not departed, so it has nothing to return from."
    NOT_EXAMINED = (
        "not_examined",
        "The policy requires an examination, and the newest observations are not examined.",
    )
    LACKS = "lacks", "A duty requires something that nothing eligible supplies."
    NO_ROOM = "no_room", "The required evidence exists but does not fit the policy's budget."
    UNFIT = "unfit", "A duty, a frontier or a constraint had to be handed over and could not be."
    NOTHING_OWED = "nothing_owed", "No duty applies to the agent."
    NOTHING_IN_SIGHT = "nothing_in_sight", "The agent can see no item at all."

    # Near misses.
    OTHER_SPELLING = "other_spelling", "An item is filed under a name that differs only in spelling."
    AGENT_SPELLING = (
        "agent_spelling",
        "Items are for a task, role or principal that differs from the agent's only in spelling.",
    )
    OUT_OF_SIGHT = "out_of_sight", "An item that would supply it is for another task, role or principal."
    UNSOURCED = "unsourced", "An item has no source, so it proves nothing."
    WRITER = "writer", "An item, or its evidence, is by a principal outside the writers, or not signed as required."
    DRAFTED = "drafted", "A model drafted an item, and it waits for a confirmation."
    DISPUTED = "disputed", "An item is in an open dispute."
    SUSPECTED = "suspected", "An item is suspected to have changed, and no verdict has settled that."
    SOURCE = "source", "The source of an item says something else now, or could not be looked at."
    OTHER_PURPOSE = "other_purpose", "An item or a duty serves other purposes than the one the agent returned for."
    POLICY = "policy", "A setting of the policy keeps something out, or contradicts another setting."
    TAKEN_OUT = "taken_out", "An item was withdrawn, replaced or invalidated, and an overseer may restore it."
    TIME = "time", "An item or a duty has not begun, or has ended."
    UNREQUIRED = "unrequired", "An item supports a dependency that no duty requires."
    FOR_EVERYBODY = (
        "for_everybody",
        "A duty that keeps the agent out names no task, role or principal: everybody owes it.",
    )
    UNRECORDED = "unrecorded", "No item is bound to an observation."
    UNEXAMINED = "unexamined", "Observations that the agent can see are not examined for implicit changes."
    SAME_SLOT = "same_slot", "Two slots differ only in spelling, so neither replaces what stands in the other."
    WAITING = "waiting", "What hit its writer's limit waits for an overseer."
    UNSWEPT = "unswept", "The lease of an agent ran out, and nobody departed for it."
    LONG_AWAY = "long_away", "An agent has been away for a long time."


class Symptom(msgspec.Struct, frozen=True):
    """One problem."""

    trouble: Trouble
    says: str
    """The problem in one sentence. Safe to print."""
    about: tuple[str, ...] = ()
    """The ids that it concerns: dependencies, duties, items."""
    grounds: tuple[str, ...] = ()
    """Causes and quotes, a sentence each. Safe to print."""
    remedies: tuple[Remedy, ...] = ()
    """Acts that fix the symptom, in order."""


class Former(msgspec.Struct, frozen=True):
    """An item related to an unmet need, and why it was not handed over."""

    item: str
    text: str
    state: State
    reasons: tuple[Reason, ...]
    why: tuple[str, ...]
    """A sentence for each reason."""


class Lack(msgspec.Struct, frozen=True):
    """One obstacle that kept a return, or a duty of it, from being complete."""

    name: str
    """The dependency, or the record that could not be handed over."""
    kind: Literal["dependency", "duty", "frontier", "constraint"]
    duties: tuple[str, ...]
    """The duties that need it."""
    critical: bool
    last: tuple[Former, ...]
    """Related candidates, the newest first: items that supported the dependency, or the record itself."""
    remedies: tuple[Remedy, ...]
    """Remedies that would have met the need at the return, in order."""
    instead: tuple[Former, ...] = ()
    """Drafts of the observations that invalidated ``last``: evidence only once a principal links them."""


class Diagnosis(msgspec.Struct, frozen=True):
    """The problems of a return or of a workspace, in order of usefulness."""

    says: str
    """The outcome in one sentence."""
    symptoms: tuple[Symptom, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    """A sentence for each part that the search for near misses left out."""
    return_id: str | None = None
    agent: Identity | None = None
    """The returning identity; None for a whole workspace."""
    lacks: tuple[Lack, ...] = ()
    """The needs that a past return could not meet when it was decided."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The diagnosis as text: each symptom, its grounds, and the commands that fix it."""
        said = [self.says]
        for number, one in enumerate(self.symptoms, 1):
            said.append(f"{number}. {one.says}")
            said += [f"   {ground}" for ground in one.grounds]
            said += [f"   $ {remedy.command}" for remedy in one.remedies]
        return said + [f"Not looked at: {one}" for one in self.not_looked_at]
