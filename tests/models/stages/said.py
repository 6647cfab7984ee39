"""Requests of every stage, and answers that each accepts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from readmit import Pair
from readmit.lab import PairCase, Verifier, digest
from readmit.models.stages import answer, extract, imply, link, plan, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.models import Model

OLD = "The weekly review takes place on Thursday at four in the small meeting room."
NEW = "Facilities wrote today: the small meeting room was turned into storage, nobody can book it any more."
OLD_AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
NEW_AT = datetime(2025, 4, 2, 9, tzinfo=UTC)
PAIR = Pair(item="review.room", evidence=digest("facilities"))


def case(**changed: Any) -> PairCase:
    fields: dict[str, Any] = {
        "pair": PAIR,
        "item_text": OLD,
        "item_at": OLD_AT,
        "evidence_text": NEW,
        "evidence_at": NEW_AT,
    }
    return PairCase(**fields | changed)


def judgment(stale: float = 0.9, **changed: Any) -> dict[str, Any]:
    fields = {
        "statement": 1,
        "item_quote": "in the small meeting room",
        "evidence_quote": "the small meeting room was turned into storage",
        "premise": "The small meeting room can be used.",
        "stale": stale,
    }
    return fields | changed


def judged(stale: float = 0.9, **changed: Any) -> str:
    return json.dumps({"judgments": [judgment(stale, **changed)]})


def claim(**changed: Any) -> dict[str, Any]:
    fields = {
        "observation": 1,
        "turn": 0,
        "quote": "the small meeting room was turned into storage",
        "slot": "office.room.small",
        "statement": "The small meeting room is storage now.",
        "operation": "update",
        "premises": ["The building keeps its storage there."],
        "confidence": 0.8,
    }
    return fields | changed


@dataclass
class Stage:
    run: Callable[[Model], Any]
    """Ask for one thing, and give back the one result."""
    good: dict[str, Any]


STAGES = {
    "verify": Stage(lambda model: Verifier(model=model).verify([case()])[0], {"judgments": [judgment()]}),
    "verify, several statements": Stage(
        lambda model: Verifier(model=model, per_call=2).verify([case(), case(item_text=f"{OLD} Every week.")])[1],
        {"judgments": [judgment(0.1), judgment(statement=2)]},
    ),
    "verify, swapped": Stage(
        lambda model: Verifier(model=model, swap=True).verify([case(critical=True)])[0], {"judgments": [judgment()]}
    ),
    "scan": Stage(
        lambda model: scan.scan(
            model,
            [
                [
                    scan.TargetLook(
                        item=PAIR.item,
                        text=OLD,
                        at=OLD_AT,
                        later=(scan.Later(evidence=PAIR.evidence, text=NEW, at=NEW_AT),),
                    )
                ]
            ],
        )[0][0],
        {"labels": [{"observation": 1, "may_change": True}]},
    ),
    "premises": Stage(
        lambda model: imply.write_lines(model, imply.PREMISES, [OLD])[0],
        {"lines": ["meeting room: can be booked", "day: Thursday"]},
    ),
    "implied": Stage(
        lambda model: imply.write_lines(model, imply.IMPLIED, [NEW])[0], {"lines": ["meeting room: used as storage"]}
    ),
    "extract": Stage(
        lambda model: extract.extract_claims(model, [extract.ExtractFrom.of("e1", NEW, by="A2", at=NEW_AT)])[0],
        {"items": [claim()]},
    ),
    "plan": Stage(
        lambda model: plan.plan_tasks(model, [plan.Task(text="Invite everyone to the next review.", role="organizer")])[
            0
        ],
        {
            "obligations": [
                {
                    "obligation": "Send the invitations.",
                    "needs": [
                        {"name": "review.room", "needed": "Where it takes place.", "critical": True, "many": False},
                        {"name": "review.people", "needed": "Who takes part.", "critical": False, "many": False},
                    ],
                }
            ],
            "queries": ["review room", "who takes part in the review", "change of the meeting place"],
        },
    ),
    "link": Stage(
        lambda model: link.ask_links(
            model, [link.LinkQuestion((("room", "Where the review takes place."),), (link.Candidate(PAIR.item, OLD),))]
        )[0],
        {"links": [{"need": 1, "statement": 1, "quote": "in the small meeting room"}]},
    ),
    "answer": Stage(
        lambda model: answer.opine(model, [answer.Question(text="Is seven prime?", choices=("yes", "no"))])[0],
        {"reason": "Only one and seven divide it.", "answerable": True, "answer": "yes", "confidence": 0.97},
    ),
}
