"""One past return, its replay, and a return that is computed on request and never saved."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from readmit.diagnosis.checkup import trial_departure
from readmit.diagnosis.trial import rehearse
from readmit.pages.gather_return import return_values, trial_values
from readmit.pages.page_values import STATES
from readmit.records.base import shown
from readmit.records.error_types import ReadmitError, RecordError
from readmit.server.inspector.overviews import number
from readmit.server.inspector.site import page_of
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from readmit.pages.page_values import ReturnPage, ShownItem
    from readmit.records.policy import Policy
    from readmit.server.inspector.site import Visit

ENTRIES = 100
"""Items of a return on one page."""
_LONGEST_POLICY = 20_000


def return_page(workspace: Workspace, visit: Visit) -> str:
    """A past return: the flow, believed and now, and its items by page, state and text."""
    desk, name = desk_of(workspace), visit.query.get("id", "")
    page = return_values(desk.log, name, now=desk.writer.clock())
    return _shown(page, visit, partial(visit.place, "return", id=name), "past_return.html")


def _shown(page: ReturnPage, visit: Visit, here: partial[str], template: str, **values: object) -> str:
    wanted = {name: visit.query.get(name, "") for name in ("state", "text", "item")}
    found = [one for one in page.entries if _matches(one, wanted)]
    first = number(visit, "from", 0) or 0
    listed = found[first : first + ENTRIES]

    def link(item: str) -> str:
        return f"{here(item=item)}#items" if item else ""

    return page_of(
        template, visit, page=page, listed=replace(page, entries=tuple(listed)), many=len(found), first=first,
        rows=ENTRIES, wanted=wanted, states=STATES, link=link, there=here, **values,
    )  # fmt: skip


def _matches(one: ShownItem, wanted: dict[str, str]) -> bool:
    if wanted["item"]:
        return one.id == wanted["item"]
    text = wanted["text"].casefold()
    return wanted["state"] in ("", one.state) and (not text or text in f"{one.id} {one.text}".casefold())


def replay_page(workspace: Workspace, visit: Visit) -> str:
    """A past decision, decided again from the log, with the differences."""
    name = visit.query.get("id", "")
    past = workspace.returned(name)
    return page_of("replay.html", visit, id=name, replay=past.replay(), agent=past.request.identity)


def ask_page(workspace: Workspace, visit: Visit) -> str:
    """How a return would be decided now, for any agent and under any policy. Nothing is written."""
    desk, asked = desk_of(workspace), {name: visit.query.get(name, "") for name in (*_WHO, "purpose", "policy")}
    agents = [departed.identity for departed in desk.log.agents()]
    if not any(asked[name] for name in _WHO):
        return page_of("ask.html", visit, asked=asked, agents=agents, fault="", page=None)
    try:
        if missing := [name for name in _WHO if not asked[name]]:
            raise RecordError(f"{missing[0]}: it is missing; give principal, role and task")
        identity = workspace.agent(**{name: asked[name] for name in _WHO}).identity
        policy = _policy(desk.policy, asked["policy"])
        with desk.log.reading():
            departed = trial_departure(desk, identity)
            trial = rehearse(desk, departed, identity, purpose=asked["purpose"] or None, policy=policy)
            page = trial_values(desk.log, trial, departed, now=desk.writer.clock())
    except ReadmitError as error:
        return page_of("ask.html", visit, asked=asked, agents=agents, fault=str(error), page=None)
    said = partial(visit.place, "ask", **asked)
    return _shown(page, visit, said, "ask.html", asked=asked, agents=agents, fault="")


_WHO = ("principal", "role", "task")


def _policy(policy: Policy, changes: str) -> Policy | None:
    """The policy with changes that are given as JSON, as ``changed`` takes them; none if there are none."""
    if not changes.strip():
        return None
    if len(changes) > _LONGEST_POLICY:
        raise RecordError(f"policy: more than {_LONGEST_POLICY:,} characters; give only what changes")
    try:
        groups = msgspec.json.decode(changes, type=dict[str, dict[str, object]])
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise RecordError(
            f'policy: {shown(changes)} is not JSON of groups of settings; write {{"returns": {{"fill": "always"}}}}'
        ) from None
    if unknown := sorted(groups.keys() - set(policy.__struct_fields__)):
        raise RecordError(f"policy: it has no group {shown(unknown[0])}; it has {', '.join(policy.__struct_fields__)}")
    return policy.changed(**groups)
