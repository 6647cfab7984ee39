"""One item with its history and its premises, and one slot on two axes of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages.gather_item import item_values
from readmit.pages.gather_slot import slot_values
from readmit.server.inspector.overviews import LISTINGS
from readmit.server.inspector.site import page_of
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from readmit.server.inspector.site import Visit


def item_page(workspace: Workspace, visit: Visit) -> str:
    """An item as it is now."""
    desk = desk_of(workspace)
    listing = LISTINGS.of(workspace)
    with desk.log.reading():
        page = item_values(desk.log, listing, visit.query.get("id", ""), now=desk.writer.clock())
    return page_of("item.html", visit, page=page, linked=False)


def slot_page(workspace: Workspace, visit: Visit) -> str:
    """A slot, for everybody or as one reader finds it."""
    desk, query = desk_of(workspace), visit.query
    page = slot_values(
        desk.log, query.get("slot", ""), now=desk.writer.now(), task=query.get("task"),
        principal=query.get("principal", ""), role=query.get("role", ""),
    )  # fmt: skip
    asked = {name: query.get(name, "") for name in ("slot", "task", "principal", "role")}
    return page_of("read_slot.html", visit, page=page, asked=asked)
