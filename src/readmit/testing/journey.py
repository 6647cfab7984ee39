"""The team of the conformance tests: one agent leaves, and each kind of change hits one thing it knew.

Every statement has a made-up word of its own, so that word shows a leak anywhere.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from readmit.records.policy import Policy
from readmit.records.verdicts import Answer, Pair, Verdict
from readmit.testing.stand_ins import Clock
from readmit.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.workspace.agent import Agent

TASK = "journey"
WHOLE_STORE = Policy(
    returns={"fill": "always"},
    budgets={"items": 200, "chars": 200_000},
    evidence={"writers": ("lead", "scout", "clerk", "walker")},
)
"""A view that holds everything eligible, as users of a memory store expect."""

KNOWN = {
    "valid": ("brindle", "The brindle museum opens at nine."),
    "valid too": ("cobalt", "The cobalt tram runs every ten minutes."),
    "superseded": ("sunmere", "Rooms are booked at the Sunmere hotel."),
    "revoked": ("quillon", "The Quillon agency rents us a car."),
    "unauthorized": ("zephrine", "The Zephrine account holds the travel budget."),
    "premise changed": ("harrowgate", "We take the Harrowgate train in the morning."),
    "verified as outdated": ("tarnwick", "The Tarnwick cafe serves our lunch."),
    "suspected": ("velloris", "The Velloris gate is the shortest way."),
    "expired": ("okapinda", "The Okapinda pass covers all museums."),
    "disputed": ("marrowby", "The Marrowby ferry takes dogs."),
}
"""The fate of a statement → its word, and the statement."""
OUT = tuple(name for name in KNOWN if not name.startswith("valid"))


class Journey:
    """A workspace in a file, with the statements recorded and the agent ``walker`` at work."""

    def __init__(self, path: Path, name: str = "journey") -> None:
        self.clock = Clock()
        # A test leaves no keys in the user's configuration folder.
        keys = path.with_name("keys")
        self.team = Workspace.open(path, name=name, policy=WHOLE_STORE, clock=self.clock, keys=keys)
        self.evidence: dict[str, str] = {}
        self.items: dict[str, str] = {}
        destination = self._known("destination", "We travel to Harrow.", slot="destination")
        for state, (_, text) in KNOWN.items():
            extra: dict[str, Any] = {}
            if state == "superseded":
                extra["slot"] = "hotel"
            elif state == "unauthorized":
                extra["roles"] = ("treasurer",)
            elif state == "premise changed":
                extra["depends_on"] = (destination,)
            elif state == "expired":
                extra["valid_until"] = self.clock.now + timedelta(days=1)
            self._known(state, text, **extra)

    @property
    def walker(self) -> Agent:
        return self.team.agent("walker", role="guide", task=TASK)

    def _known(self, state: str, text: str, **fields: Any) -> str:
        roles = fields.get("roles", ())
        name = state.replace(" ", "-")
        self.evidence[state] = self.team.observe(text, id=f"seen-{name}", by="scout", task=TASK, roles=roles)
        self.items[state] = self.team.record(
            text, id=name, by="scout", sources=[self.evidence[state]], task=TASK, **fields
        )
        return self.items[state]

    def change(self) -> None:
        """Make the team's changes while the agent is away: one of each kind."""
        team, items = self.team, self.items
        news = team.observe("Sunmere is full; rooms are now at the Lowland inn.", by="scout", task=TASK)
        team.record(
            "Rooms are booked at the Lowland inn.", id="inn", by="scout", slot="hotel", sources=[news], task=TASK
        )
        team.revoke(items["revoked"], by="lead", reason="never signed")
        elsewhere = team.observe("The destination is now Ostley.", by="lead", task=TASK)
        team.record("We travel to Ostley.", id="ostley", by="lead", slot="destination", sources=[elsewhere], task=TASK)
        closed = team.observe("The Tarnwick cafe burned down last night.", by="scout", task=TASK)
        team.judge(
            Verdict(
                pair=Pair(item=items["verified as outdated"], evidence=closed),
                answer=Answer.INVALIDATES,
                confidence=Decimal("0.95"),
                item_quote="The Tarnwick cafe serves our lunch",
                evidence_quote="The Tarnwick cafe burned down",
            ),
            by="clerk",
        )
        works = team.observe("There are works at several gates.", by="scout", task=TASK)
        team.judge(Pair(item=items["suspected"], evidence=works), by="clerk")
        team.dispute([items["disputed"]], by="lead")
        self.clock.now += timedelta(days=2)

    def close(self) -> None:
        self.team.close()
