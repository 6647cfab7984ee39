"""Things that wait for a person, and the buttons that decide them, in the name of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.clients.agent_tools.view_tools import SETTLE_DRAFT
from readmit.pages.gather_waits import contested_lines, waiting_lines
from readmit.records.base import shown
from readmit.records.error_types import NotAllowedError, RecordError
from readmit.server.inspector.overviews import LISTINGS, operators_sight
from readmit.server.inspector.site import page_of
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from readmit.pages.project_values import WaitingLine
    from readmit.server.caller import Caller, Right
    from readmit.server.inspector.site import Visit


class PersonAct(NamedTuple):
    """A decision that a person may take: the right that it needs, and the verb that it is."""

    right: Right
    words: str
    run: Callable[[Workspace, Mapping[str, str]], object]
    """Runs in the caller's own name, or as owner for an admin."""


def _prefer(team: Workspace, of: Mapping[str, str]) -> None:
    with team.batch():
        for other in filter(None, of["others"].splitlines()):
            team.supersede(other, of["item"], reason=of["reason"])


ACTS: Mapping[str, PersonAct] = {
    "confirm": PersonAct("write", "Confirm", lambda team, of: team.confirm(of["id"])),
    "settle": PersonAct("write", "Settle the duty", lambda team, of: team.settle(of["duty"], reason=of["reason"])),
    "withdraw": PersonAct("write", "Withdraw", lambda team, of: team.revoke(of["id"], reason=of["reason"])),
    "keep": PersonAct(
        "write", "Keep this one", lambda team, of: team.resolve(of["id"], keep=[of["item"]], reason=of["reason"])
    ),
    "prefer": PersonAct("write", "This one holds", _prefer),
    "approve": PersonAct("admin", "Approve", lambda team, of: team.admin.approve(of["id"], reason=of["reason"])),
    "decline": PersonAct("admin", "Decline", lambda team, of: team.admin.decline(of["id"], reason=of["reason"])),
}  # fmt: skip
OFFERED: Mapping[str, tuple[str, ...]] = {
    "draft": ("confirm", "withdraw"),
    "settlement": ("settle", "withdraw"),
    "dispute": ("keep",),
    "contested": ("prefer",),
    "limit": ("approve", "decline"),
}
"""The decisions that are offered for each kind of thing that waits."""
FIELDS = ("act", "id", "item", "others", "duty", "reason")


def waiting_page(workspace: Workspace, visit: Visit, fault: str = "") -> str:
    """Everything that waits for a person, with buttons for those whose credential may decide."""
    desk, listing, sight = desk_of(workspace), LISTINGS.of(workspace), operators_sight(workspace)
    with desk.log.reading():
        lines: list[WaitingLine] = [
            *waiting_lines(desk.log, listing.items, settle_draft=SETTLE_DRAFT), *contested_lines(listing.items),
        ]  # fmt: skip
    return page_of(
        "waiting.html", visit, lines=lines, done=ACTS.get(visit.query.get("done", "")), fault=fault, acts=ACTS,
        offered=OFFERED, says=lambda name: sight.says(listing.items[name].item),
    )  # fmt: skip


def run_decision(workspace: Workspace, caller: Caller, given: Mapping[str, str]) -> None:
    """Run one decision."""
    act = ACTS.get(given.get("act", ""))
    if act is None:
        raise RecordError(f"act: {shown(given.get('act', ''))} is no decision; it is one of {', '.join(ACTS)}")
    if act.right not in caller.rights:
        raise NotAllowedError(f"act: {act.words!r} needs the right {act.right!r}, which this credential does not have")
    team = workspace.as_owner() if act.right == "admin" else workspace.principal(caller.principal)
    act.run(team, {name: given.get(name, "") for name in FIELDS})
