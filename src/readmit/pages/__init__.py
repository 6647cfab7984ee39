"""Pages for operators: one past return, one item, or one slot over time, as a single HTML file.

They show texts of items that were left out. Never hand one to the returning agent.
"""

from __future__ import annotations

from readmit.diagnosis.history import newest_return
from readmit.diagnosis.item_states import read_items
from readmit.pages.gather_item import item_values
from readmit.pages.gather_return import return_values
from readmit.pages.gather_slot import slot_values
from readmit.pages.page_templates import item_html, return_html, slot_html
from readmit.workspace.workspace import Workspace, desk_of

__all__ = ["item_page", "return_page", "slot_page"]


def return_page(workspace: Workspace, return_id: str | None = None) -> str:
    """The page of a past return; without an id, of the newest one."""
    desk = desk_of(workspace)
    desk.writer.check_operator("return_page")
    name = return_id or newest_return(desk.log)
    return return_html(return_values(desk.log, name, now=desk.writer.clock()))


def item_page(workspace: Workspace, item: str) -> str:
    """The page of an item as it is now: its history, the causes against it, and the premises it hangs together with."""
    desk = desk_of(workspace)
    desk.writer.check_operator("item_page")
    listing = read_items(desk.log, desk.policy, desk.writer.now())
    return item_html(item_values(desk.log, listing, item, now=desk.writer.clock()))


def slot_page(workspace: Workspace, slot: str, *, task: str | None = None, principal: str = "", role: str = "") -> str:
    """The page of a slot: which statement stood when, for everybody or for one reader, and why the others fell."""
    desk = desk_of(workspace)
    desk.writer.check_operator("slot_page")
    return slot_html(slot_values(desk.log, slot, now=desk.writer.now(), task=task, principal=principal, role=role))
