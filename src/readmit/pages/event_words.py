"""Events of the log in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages.page_values import Happening
from readmit.records.acts.event import Overrule, Suspect
from readmit.records.acts.kinds import sentence, targets_of
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.policy import Policy
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.pages.page_values import Lane
    from readmit.records.acts.event import Event


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
            return "looked into", f"{by} overruled what is against {payload.target} ({payload.grant})", payload.reason
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


def format_moment(at: datetime) -> str:
    """A moment to the second."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def cut(text: str, most: int) -> str:
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
