"""Ids on the command line: a unique prefix is enough, and shells complete them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from readmit.records.acts.event import KeyChange
from readmit.records.error_types import ReadmitError, UnknownError
from readmit.records.identity import OWN
from readmit.workspace.workspace import Workspace, desk_of
from readmit.writing import rights

if TYPE_CHECKING:
    from collections.abc import Sequence


KEY = "key"
EVIDENCE = "evidence"
_MANY = 6
_COMPLETIONS = 50
_ALL = 2**31 - 1


class Found(NamedTuple):
    """An id on the log, and its name space."""

    space: str
    name: str


class Reference(click.ParamType[str]):
    """An id on the log, or its prefix. The command resolves it once it knows the store."""

    name = "id"

    def __init__(self, *spaces: str) -> None:
        self.spaces = spaces

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        from readmit.cli.command import DEFAULT_DB, Invocation
        from readmit.workspace.workspace import DEFAULT_NAME

        db = ctx.params.get("db") or os.environ.get("READMIT_DB") or DEFAULT_DB
        name = ctx.params.get("workspace") or os.environ.get("READMIT_WORKSPACE") or DEFAULT_NAME
        try:
            with Invocation(json=False, db=db, workspace=name).open() as workspace:
                found = find_ids(workspace, self.spaces, incomplete, limit=_COMPLETIONS)
        except (ReadmitError, OSError):
            # A shell has no place for an error; the command itself reports it.
            return []
        return [CompletionItem(one.name, help=one.space) for one in found]


def find_ids(
    workspace: Workspace, spaces: Sequence[str], beginning: str, *, limit: int = _MANY, by: str | None = None
) -> list[Found]:
    """The ids with a prefix in some name spaces; for a writer, only of events that it may know of."""
    found: list[Found] = []
    for space in spaces:
        if space == KEY:
            names = sorted(key for key in _keys(workspace) if key.startswith(beginning))[:limit]
        elif by is None or not _may_be_hidden(space, beginning):
            names = desk_of(workspace).log.beginning_with(space, beginning, limit=limit)
        else:
            each = desk_of(workspace).log.beginning_with(space, beginning, limit=_ALL)
            names = [name for name in each if _is_known(workspace, space, name, by)][:limit]
        # An observation without an id of its own is named by the beginning of its digest.
        found += (Found(space, name) for name in names if not any(one.name.startswith(name) for one in found))
    return found


def _may_be_hidden(space: str, beginning: str) -> bool:
    """Whether an event with a restricted audience may have such an id: it has one of its writer's own."""
    return space == EVIDENCE or beginning.startswith(OWN)


def _is_known(workspace: Workspace, space: str, name: str, by: str) -> bool:
    log, rules = desk_of(workspace).log, lambda: workspace.admin.policy
    check = {"item": rights.item_for, "dispute": rights.dispute_for, EVIDENCE: rights.check_evidence}.get(space)
    try:
        if check is not None:
            check(log, name, by, rules)
    except UnknownError:
        return False
    return True


def resolve_id(
    workspace: Workspace, spaces: Sequence[str], given: str, *, label: str, by: str | None = None
) -> Found | None:
    """The one id with this prefix; none if there is none. An exact match wins."""
    if not given:
        # An unset variable of a script must not match the only item of a workspace.
        raise UnknownError(f"{label} is empty; give an id, or its beginning")
    found = find_ids(workspace, spaces, given, by=by)
    exact = [one for one in found if one.name == given]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if not found:
        return None
    names = ", ".join(one.name for one in found[: _MANY - 1])
    more = " and more" if len(found) >= _MANY else ""
    raise UnknownError(f"{label}: {given!r} is the beginning of {names}{more}; give more of it")


def resolve_params(workspace: Workspace, params: Sequence[click.Parameter], values: dict[str, Any]) -> None:
    """Replace prefixes by full ids. An item that is unknown is refused; the command refuses anything else."""
    # What a principal writes is signed, if it has a key. Other commands are the operator's.
    writes = any(param.name == "signer" for param in params)
    by = (values.get("by") or values.get("principal")) if writes else None
    for param in params:
        kind, value = param.type, values.get(str(param.name))
        if not isinstance(kind, Reference) or value is None:
            continue
        found = tuple(
            _meant(workspace, kind.spaces, one, label_of(param), by)
            for one in ((value,) if isinstance(value, str) else value)
        )
        values[str(param.name)] = found[0] if isinstance(value, str) else found


def _meant(workspace: Workspace, spaces: Sequence[str], given: str, label: str, by: str | None) -> str:
    found = resolve_id(workspace, spaces, given, label=label, by=by)
    if found is None and spaces == ("item",):
        raise UnknownError(f"{label}: no item {given!r}; `readmit items` lists them")
    return given if found is None else found.name


def label_of(param: click.Parameter) -> str:
    """The name of a parameter on the command line."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return (param.metavar or str(param.name).upper()).rstrip(".…")


def _keys(workspace: Workspace) -> set[str]:
    return {event.payload.key for event in workspace.admin.keys.changes() if isinstance(event.payload, KeyChange)}
