"""CUPMem's memory: ten buckets with their tracks; items are current, challenged, unknown, refined or stale."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

Status = Literal["current", "challenged", "unknown", "refined", "stale"]

BUCKETS: dict[str, tuple[str, ...]] = {
    "identity_and_background": ("name_and_age", "origin", "education"),
    "stable_preferences": ("likes", "dislikes", "style", "values"),
    "location_and_living": ("place", "home", "household"),
    "weather_and_environment": ("season", "conditions", "surroundings"),
    "health_and_mobility": ("condition", "ability", "diet", "treatment"),
    "work_and_schedule": ("role", "hours", "colleagues"),
    "finance_and_resources": ("income", "possessions", "limits"),
    "family_and_caregiving": ("relations", "dependents", "care_duties"),
    "routine_and_transport": ("daily_routine", "transport", "exercise"),
    "current_focus_and_goals": ("projects", "plans", "goals", "obstacles"),
}
SCHEMA = "\n".join(f"{bucket}: {', '.join(tracks)}" for bucket, tracks in BUCKETS.items())

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Item:
    """One proposition, bound to the row whose words it rests on."""

    number: int
    bucket: str
    track: str
    text: str
    row: str
    quote: str
    status: Status = "current"
    successor: int | None = None


@dataclass
class Memory:
    """Items by number. Nothing is deleted; a stale or refined item links to what took its place."""

    items: dict[int, Item] = field(default_factory=dict)

    def add(self, bucket: str, track: str, text: str, row: str, quote: str) -> Item:
        number = len(self.items) + 1
        self.items[number] = Item(number, bucket, track, text, row, quote)
        return self.items[number]

    def mark(self, number: int, status: Status, successor: int | None = None) -> None:
        self.items[number] = replace(self.items[number], status=status, successor=successor)

    def usable(self) -> list[Item]:
        return [item for item in self.items.values() if item.status not in ("stale", "refined")]

    def same_track(self, bucket: str, track: str) -> list[Item]:
        return [item for item in self.usable() if (item.bucket, item.track) == (bucket, track)]

    def nearest(self, query: str, among: list[Item], most: int, floor: float = 0.0) -> list[Item]:
        """The items that share the most words with the query: at least ``floor`` of the item's own."""
        wanted = set(_WORD.findall(query.casefold()))
        scored = []
        for item in among:
            own = set(_WORD.findall(item.text.casefold()))
            share = len(own & wanted) / len(own) if own else 0.0
            if share > floor:
                scored.append((-share, -item.number, item))
        return [item for _, _, item in sorted(scored)[:most]]

    def listed(self, items: list[Item]) -> str:
        """Items as a prompt shows them."""
        lines = []
        for item in items:
            after = f", replaced by {item.successor}" if item.successor else ""
            lines.append(f"{item.number}. [{item.bucket}/{item.track}, {item.status}{after}] {item.text}")
        return "\n".join(lines) or "(nothing)"
