"""What W3C PROV-CONSTRAINTS asks of the order of events, checked on PROV-JSON without readmit's code.

Section 6.2 of the recommendation, as far as times are given: an entity is generated once, then used, then invalidated
once; what an activity does falls within it; what is derived is not older than its source.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def violations(text: str) -> list[str]:
    """Every constraint that a document breaks."""
    return list(_Checked(json.loads(text)).broken())


class _Checked:
    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._born: dict[str, str] = {}
        self._gone: dict[str, str] = {}

    def _relations(self, kind: str) -> Iterator[dict[str, Any]]:
        yield from self._document.get(kind, {}).values()

    def broken(self) -> Iterator[str]:
        yield from self._once("wasGeneratedBy", self._born)
        yield from self._once("wasInvalidatedBy", self._gone)
        for entity, time in self._gone.items():
            if entity in self._born and self._born[entity] > time:
                yield f"{entity} is invalidated before it is generated"
        for used in self._relations("used"):
            entity, time = used["prov:entity"], used["prov:time"]
            if self._born.get(entity, time) > time:
                yield f"{entity} is used before it is generated"
            if self._gone.get(entity, time) < time:
                yield f"{entity} is used after it was invalidated"
        for derived in self._relations("wasDerivedFrom"):
            new, old = derived["prov:generatedEntity"], derived["prov:usedEntity"]
            if new in self._born and self._born.get(old, "") > self._born[new]:
                yield f"{new} is derived from the later {old}"
            if new in self._born and self._gone.get(old, self._born[new]) < self._born[new]:
                yield f"{new} is derived from {old}, which was invalidated before"
        yield from self._within()

    def _once(self, kind: str, times: dict[str, str]) -> Iterator[str]:
        for relation in self._relations(kind):
            if relation["prov:entity"] in times:
                yield f"{relation['prov:entity']}: {kind} twice"
            times[relation["prov:entity"]] = relation["prov:time"]

    def _within(self) -> Iterator[str]:
        activities = self._document.get("activity", {})
        for name, activity in activities.items():
            if activity["prov:startTime"] > activity["prov:endTime"]:
                yield f"{name} ends before it starts"
        for kind in ("used", "wasGeneratedBy", "wasInvalidatedBy"):
            for relation in self._relations(kind):
                activity = activities[relation["prov:activity"]]
                if not activity["prov:startTime"] <= relation["prov:time"] <= activity["prov:endTime"]:
                    yield f"{relation['prov:entity']}: {kind} outside of {relation['prov:activity']}"
