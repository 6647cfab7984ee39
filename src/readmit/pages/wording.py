"""Events of the log as a person would tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages.values import Happening
from readmit.records.events import (
    Close,
    Confirm,
    Dispute,
    Link,
    Overrule,
    Rebase,
    Resolve,
    Revoke,
    Settle,
    Supersede,
    Suspect,
)
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.kinds import targets_of
from readmit.records.policy import Policy
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.pages.values import Lane
    from readmit.records.events import Event


def happening(event: Event) -> Happening:
    """One event."""
    lane, words, text = _told(event)
    about = targets_of(event.payload)
    return Happening(
        epoch=event.epoch, at=event.at, lane=lane, words=words, text=text, item=about[0] if len(about) == 1 else ""
    )


def _told(event: Event) -> tuple[Lane, str, str]:
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
        case Supersede() | Revoke() | Close() | Rebase() | Settle() | Dispute():
            return "taken out", f"{by} {_ending(payload)}", payload.reason
        case Verdict():
            return "looked into", f"{by} judged {payload.pair.item}: {payload.answer}", payload.premise
        case _:
            return "looked into", f"{by} {_other(event)}", ""


def _ending(payload: Supersede | Revoke | Close | Rebase | Settle | Dispute) -> str:
    match payload:
        case Supersede():
            return f"replaced {payload.target} by {payload.successor}"
        case Revoke():
            return f"withdrew {payload.target}"
        case Close():
            return f"ended {payload.target} at {moment(payload.end)}"
        case Rebase():
            return f"started the slot {payload.slot} anew"
        case Settle():
            return f"settled the duty {payload.target}"
        case Dispute():
            return f"disputed {', '.join(payload.items)}"


def _other(event: Event) -> str:
    payload = event.payload
    match payload:
        case Suspect():
            return f"suspected that {payload.pair.item} is outdated ({payload.signal})"
        case Resolve():
            kept = f"kept {', '.join(payload.keep)}" if payload.keep else "kept nothing"
            return f"resolved the dispute {payload.dispute} and {kept}: {payload.reason}"
        case Link():
            verb = "withdrew the link from" if payload.withdrawn else "linked"
            return f"{verb} {payload.item} to {payload.need}" + (" (drafted)" if payload.drafted else "")
        case Confirm():
            return f"confirmed {payload.target}"
        case Overrule():
            return f"overruled the rejection of {payload.target} ({payload.grant}): {payload.reason}"
        case Experience():
            # Its text is the owner's alone.
            return f"remembered {payload.id} in private, from {payload.bound_to}"
        case Policy():
            return "changed the policy"
        case _:
            return f"wrote an event of the kind {event.kind}"


def moment(at: datetime) -> str:
    """A moment to the second."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def cut(text: str, most: int) -> str:
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
