"""Values of a project's page and of ``readmit today``: what its agents remember, what fell and why, what waits."""

from __future__ import annotations

from typing import Literal

import msgspec

from readmit.pages.page_values import Heading
from readmit.records.base import Time
from readmit.text.english import counted

WAITING = {
    "draft": "A draft that nobody has confirmed.",
    "settlement": "An agent says that a duty is done; nobody has settled it.",
    "dispute": "These contradict each other; none of them is acted on.",
    "limit": "It is beyond a limit of the policy.",
    "contested": "These were written without knowledge of each other; none of them stands.",
}
"""A sentence about each kind of thing that waits."""


class RememberedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that stands."""

    id: str
    text: str
    by: str
    where: str
    """The file and line that it comes from, if it does."""


class FallenLine(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that no longer stands."""

    id: str
    text: str
    by: str
    where: str
    state: str
    epoch: int
    at: Time | None
    why: str
    instead: str
    """What its place says now; empty if nothing is known to have replaced it."""


class WaitingLine(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person decides."""

    id: str
    kind: Literal["draft", "settlement", "dispute", "limit", "contested"]
    by: str
    texts: tuple[str, ...]
    items: tuple[str, ...] = ()
    """The items whose texts these are; empty for an act beyond a limit."""
    duty: str = ""
    """The duty that a settlement would end."""


class SessionLine(msgspec.Struct, frozen=True, kw_only=True):
    """A session of an agent, by its principal."""

    name: str
    at: Time
    """When it was handed something last, or left."""
    left: bool
    handed: int
    withdrawn: int
    """How many statements it learned no longer hold."""


class ProjectReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a project's agents remember, at one moment."""

    checkout: str
    task: str
    store: str
    made: Time
    remembered: tuple[RememberedLine, ...] = ()
    fell: tuple[FallenLine, ...] = ()
    """The newest first."""
    waits: tuple[WaitingLine, ...] = ()
    sessions: tuple[SessionLine, ...] = ()
    """The newest first."""
    elsewhere: int = 0
    """Statements of other checkouts and packages of the repository."""

    @property
    def heading(self) -> Heading:
        """Title and facts of its page."""
        return Heading(
            workspace=self.task,
            title=self.checkout.rpartition("/")[2] or self.checkout,
            facts=(
                ("Checkout", self.checkout),
                ("Remembered", counted(len(self.remembered), "statement")),
                ("No longer holds", counted(len(self.fell), "statement")),
                ("Elsewhere", f"{counted(self.elsewhere, 'statement')} of other checkouts or packages"),
            ),
            made=self.made,
        )

    @property
    def by_writer(self) -> list[tuple[str, list[RememberedLine]]]:
        """The statements that stand, by their writer."""
        found: dict[str, list[RememberedLine]] = {}
        for one in self.remembered:
            found.setdefault(one.by, []).append(one)
        return list(found.items())
