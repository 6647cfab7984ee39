"""Values of pages: the ``gather`` modules read them from the log, the templates turn them into HTML.

An event of the log becomes a ``Happening`` here, in words.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from readmit.diagnosis.symptoms import Lack
from readmit.records.acts.event import Event, Overrule, Suspect
from readmit.records.acts.kinds import sentence, targets_of
from readmit.records.base import Time
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Frontier, Item, Kind, Obligation
from readmit.records.policy import Policy
from readmit.records.reasons import PRECEDENCE, DutyState, State
from readmit.records.retractions import Retractions
from readmit.records.verdicts import Verdict

Lane = Literal["observed", "recorded", "taken out", "looked into"]
LANES: tuple[Lane, ...] = ("observed", "recorded", "taken out", "looked into")
Tone = Literal["in", "fit", "out"]
SIGNS: dict[Tone, str] = {"in": "✓", "fit": "○", "out": "✕"}
"""A sign beside each word, so that nothing depends on color."""
_FIT = frozenset({State.NOT_NEEDED, State.WITHHELD})


def tone_of(state: State) -> Tone:
    """Whether an item is in, fit but not handed over, or out."""
    return "in" if state is State.ADMITTED else "fit" if state in _FIT else "out"


# What is handed over first, then what is out, then what is fit and was not handed over.
STATES = tuple(sorted(PRECEDENCE, key=lambda state: ("in", "out", "fit").index(tone_of(state))))


class Quote(msgspec.Struct, frozen=True):
    """A quote that supports a reason, and its author."""

    label: str
    text: str


class Why(msgspec.Struct, frozen=True):
    """One reason in a sentence, with both quotes if there are any."""

    sentence: str
    quotes: tuple[Quote, ...] = ()


class ShownItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item and its disposition."""

    id: str
    kind: Kind
    state: State | None
    """None where the page follows an item through time."""
    text: str
    by: str
    epoch: int
    at: Time
    facets: tuple[tuple[str, str], ...] = ()
    whys: tuple[Why, ...] = ()


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the log, in words."""

    epoch: int
    at: Time
    lane: Lane
    words: str
    text: str = ""
    """The text of the event, in its author's words."""
    item: str = ""
    """The item that it is about."""


class Fallen(msgspec.Struct, frozen=True):
    """An item that is out, and its dependents that fell with it."""

    id: str
    text: str
    note: str
    resting: tuple[Fallen, ...] = ()
    more: int = 0
    """How many dependents are not drawn."""


class Belief(msgspec.Struct, frozen=True, kw_only=True):
    """An item that an agent held at its departure and that no longer holds, beside the text that holds now."""

    id: str
    kind: Kind
    state: State
    was: tuple[Quote, ...]
    """The item as the agent held it, and the premise that it rested on, if that fell."""
    now: tuple[Quote, ...]
    """The text in its place; empty if nothing replaced it."""
    why: tuple[str, ...]


class Believed(msgspec.Struct, frozen=True, kw_only=True):
    """The items that an agent held at its departure, at the time of its return."""

    fallen: tuple[Belief, ...] = ()
    holding: int = 0
    """How many still hold."""
    earlier: int = 0
    """How many had fallen before the departure."""
    apart: int = 0
    """How many do not concern it in this return: for other tasks, purposes or readers, or without a source."""


class FlowStage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a return: the items that enter it, and those that stop there."""

    title: str
    words: str
    entering: int
    whole: int
    """How many items the return began with."""
    stopped: tuple[tuple[State, tuple[ShownItem, ...]], ...] = ()

    @property
    def passing(self) -> int:
        """How many items go on."""
        return self.entering - sum(len(items) for _, items in self.stopped)

    @property
    def share(self) -> Use:
        """The items that go on, of those that the return began with."""
        return Use("Items that go on", self.passing, self.whole)


class ShownNeed(msgspec.Struct, frozen=True):
    """A dependency that a duty requires, and the fit items that meet it."""

    name: str
    critical: bool
    met_by: tuple[str, ...]


class ShownDuty(msgspec.Struct, frozen=True, kw_only=True):
    """A duty that a return considered."""

    id: str
    text: str
    state: DutyState
    handed_over: bool
    needs: tuple[ShownNeed, ...] = ()
    questions: tuple[str, ...] = ()


class Use(msgspec.Struct, frozen=True):
    """How much of a limit a view takes."""

    label: str
    used: int
    most: int


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """A signed document, its key, and whether the signature verifies."""

    what: str
    key: str
    verifies: bool
    note: str


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """Title, workspace and facts at the top of a page."""

    workspace: str
    title: str
    facts: tuple[tuple[str, str], ...]
    made: Time


class ReturnPage(msgspec.Struct, frozen=True, kw_only=True):
    """One past return."""

    heading: Heading
    return_id: str = ""
    """Empty for one that is computed and not on record."""
    verdict: str
    tone: Tone
    reasons: tuple[str, ...]
    departed: Happening
    returned: Happening
    happenings: tuple[Happening, ...]
    entries: tuple[ShownItem, ...]
    fallen: tuple[Fallen, ...]
    believed: Believed
    retractions: Retractions
    news: tuple[tuple[str, str], ...]
    """Items of the view that are new since departure or were confirmed again, with that word."""
    duties: tuple[ShownDuty, ...]
    lacking: tuple[Lack, ...]
    uses: tuple[Use, ...]
    seals: tuple[Seal, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()
    deliveries: tuple[str, ...] = ()
    experiences: tuple[tuple[str, str, str], ...]
    """Each with the item that it is bound to, and why it is back or not. Their texts are the owner's alone."""

    @property
    def changed(self) -> bool:
        """Whether the agent learns of a change."""
        return bool(self.news) or self.retractions != Retractions()

    @property
    def groups(self) -> list[tuple[str, list[ShownItem]]]:
        """The items by their state, under a title."""
        groups = ((state, [entry for entry in self.entries if entry.state is state]) for state in STATES)
        return [(state_title(state), own) for state, own in groups if own]

    @property
    def flow(self) -> list[FlowStage]:
        """The stages of the return, with the items that stop at each."""
        by_state: dict[State | None, list[ShownItem]] = {}
        for entry in self.entries:
            by_state.setdefault(entry.state, []).append(entry)
        stages: list[FlowStage] = []
        entering = len(self.entries)
        for title, words, states in STAGES:
            stopped = tuple((state, tuple(by_state[state])) for state in states if state in by_state)
            stages.append(
                FlowStage(title=title, words=words, entering=entering, whole=len(self.entries), stopped=stopped)
            )
            entering = stages[-1].passing
        return stages


# The stages of the paper's section 3, and the states in which an item stops there.
STAGES: tuple[tuple[str, str, tuple[State, ...]], ...] = (
    ("Capture", "What the agent held when it left, and everything since that it may see.", ()),
    (
        "Invalidate",
        "Something ended it, replaced it, or changed a premise of it.",
        (
            State.REVOKED, State.SUPERSEDED, State.EXPIRED, State.SOURCE_CHANGED, State.PREMISE_CHANGED,
            State.DISPUTED, State.SUSPECTED,
        ),
    ),
    (
        "Gate",
        "May this agent use it, here and now, and is it proven?",
        (State.UNAUTHORIZED, State.NOT_YET_VALID, State.NOT_APPLICABLE, State.UNPROVEN, State.TOO_LARGE),
    ),
    ("Cover", "A small set that meets every duty.", (State.NOT_NEEDED, State.WITHHELD)),
    ("Seal", "Signed, and handed over after a recheck.", ()),
)  # fmt: skip


def state_title(state: State) -> str:
    """The title of a list of items in a state."""
    words = str(state).replace("_", " ")
    return "In: handed over" if state is State.ADMITTED else f"{words[0].upper()}{words[1:]}"


class Span(msgspec.Struct, frozen=True):
    """A period in which an item stood, between two moments of a slot page."""

    first: int
    last: int


class SlotItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a slot, and when it stood."""

    entry: ShownItem
    spans: tuple[Span, ...]


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A point in the life of a slot: the event, the items standing from then on, and why the others fell."""

    happening: Happening
    standing: tuple[str, ...]
    fell: tuple[tuple[str, Why], ...] = ()


class Times(msgspec.Struct, frozen=True):
    """A slot on two axes of time: the statements that hold for a time, by the knowledge of a moment."""

    known: tuple[Happening, ...]
    """The columns: the latest moments at which somebody learnt of something."""
    rows: tuple[tuple[Time, tuple[tuple[str, ...], ...]], ...]
    """Each time that it is about, with the statements standing in each column."""


class SlotPage(msgspec.Struct, frozen=True, kw_only=True):
    """One slot over time, as one reader would have found it."""

    heading: Heading
    moments: tuple[Moment, ...]
    earlier: int
    """Moments before the first one shown."""
    items: tuple[SlotItem, ...]
    """Items that stood at a shown moment, or were recorded then."""
    past: int
    """Items that had fallen before the first moment shown."""
    apart: tuple[ShownItem, ...]
    """Items of the slot that this reader cannot see."""
    times: Times


def happening(event: Event) -> Happening:
    """An event of the log as a line of a page."""
    lane, words, text = _worded(event)
    about = targets_of(event.payload)
    return Happening(
        epoch=event.epoch, at=event.at, lane=lane, words=words, text=text, item=about[0] if len(about) == 1 else ""
    )


def _worded(event: Event) -> tuple[Lane, str, str]:
    by, payload = event.by, event.payload
    match payload:
        case Evidence():
            return "observed", f"{by} observed ({payload.source.replace('_', ' ')})", payload.text
        case Obligation():
            return "recorded", f"{by} opened the duty {payload.id}", payload.text
        case Frontier():
            return "recorded", f"{by} moved the frontier of {payload.obligation}: {payload.id}", payload.text
        case Item():
            return "recorded", f"{by} recorded {payload.id}", payload.text
        case Verdict():
            return "looked into", f"{by} judged {payload.pair.item}: {payload.answer}", payload.premise
        case Suspect():
            return "looked into", f"{by} suspects that {payload.pair.item} is outdated ({payload.signal})", ""
        case Overrule():
            return "looked into", f"{by} restored {payload.target}", payload.reason
        case _:
            lane: Lane = "taken out" if event.kind.invalidates else "looked into"
            return lane, f"{_declared(event)}, by {by}", getattr(payload, "reason", "")


def _declared(event: Event) -> str:
    """An event as the declaration of its kind words it."""
    payload, kind = event.payload, event.kind
    match payload:
        case Experience():
            # Its text is the owner's alone.
            return f"{payload.id} is remembered in private, from {payload.bound_to}"
        case Policy():
            return "The policy changed"
        case _:
            return sentence(kind, payload)


def cut(text: str, most: int) -> str:
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
