"""One call of a verb: the caller's handle, what it was given, and the result as the wire has it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.clients.agent_tools.tool_inputs import RecallInput
from readmit.clients.agent_tools.view_tools import ViewTools
from readmit.presence.lease import LeaseFence
from readmit.records.canonical import convert
from readmit.records.error_types import NotAllowedError, RecordError
from readmit.remote.given_bodies import given as given_fields
from readmit.remote.verb_table import IN_A_BATCH, verbs
from readmit.remote.wire_values import BatchGiven, PresenceAnswer, ReturnAnswer, SearchAnswer, WorkspaceAnswer
from readmit.server.readings import READINGS
from readmit.server.service import unknown_workspace
from readmit.state.absence import tenure
from readmit.workspace.agent import PresentAgent
from readmit.workspace.return_handle import Return
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.remote.verb_table import Verb
    from readmit.server.caller import Caller
    from readmit.workspace.agent import Agent
    from readmit.workspace.workspace import Workspace

_VERBS: Mapping[str, Verb] = {verb.name: verb for verb in verbs()}


def check_caller(verb: Verb, caller: Caller, workspace: str | None) -> None:
    """Refuse a caller without the right, and one that may not reach the workspace, as if it did not exist."""
    if workspace is not None and workspace not in caller.workspaces:
        raise unknown_workspace(workspace)
    if not verb.rights & caller.rights:
        needed = " or ".join(sorted(verb.rights))
        raise NotAllowedError(f"{verb.name}: this credential does not have the right {needed}, which it needs")


def call(verb: Verb, workspace: Workspace, caller: Caller, path: Mapping[str, str], values: msgspec.Struct) -> Any:
    """Call a verb in the name of its caller. What it returns can be encoded."""
    if isinstance(values, BatchGiven):
        return _batch(workspace, caller, values)
    given = {name: _plain(value) for name, value in given_fields(values).items()}
    match verb.handle:
        case "reading" if verb.name == "status":
            return WorkspaceAnswer(name=workspace.name, epoch=workspace.epoch, principal=caller.principal)
        case "reading" if not verb.is_agents:
            return READINGS[verb.name](workspace, **path, **given)
        case "admin":
            return _called(verb, workspace.as_owner().admin, given)
        case "workspace":
            return _called(verb, workspace.principal(caller.principal), given)
        case _:
            return _as_agent(verb, workspace.principal(caller.principal), caller, path, given)


def _as_agent(verb: Verb, handle: Workspace, caller: Caller, path: Mapping[str, str], given: dict[str, Any]) -> Any:
    role, task = given.pop("role"), given.pop("task")
    agent = handle.agent(caller.principal, role=role, task=task)
    if verb.name == "draft":
        check_drafts(handle)
        return _called(verb, handle, {**given, "task": task})
    if verb.name == "search":
        tools = ViewTools(handle, agent, f"{caller.principal}, over HTTP")
        return convert(tools.call(RecallInput(**given)), SearchAnswer, what="search")
    if verb.name == "renew":
        return _renewed(handle, agent, **given)
    if verb.handle == "return":
        return _called(verb, agent.delivery(path["id"], secret=given.pop("secret")), given)
    return _called(verb, agent, given)


def check_drafts(handle: Workspace) -> None:
    """Refuse drafts of an agent where the policy counts drafts at once."""
    if handle.admin.policy.evidence.drafts == "accept":
        raise NotAllowedError(
            "draft: the policy counts drafts at once, and a person has to confirm what this credential drafts; "
            "set the policy's evidence.drafts to 'confirm'"
        )


def check_role(verb: Verb, caller: Caller, values: msgspec.Struct) -> None:
    """Refuse an agent in a role that its credential does not name."""
    role = getattr(values, "role", None)
    if verb.is_agents and role not in caller.roles:
        raise NotAllowedError(f"role: this credential may not act as {role!r}; ask for one that names this role")


def _called(verb: Verb, handle: object, given: dict[str, Any]) -> Any:
    assert verb.function is not None  # noqa: S101 - only readings have none
    if verb.name == "overrule" and not isinstance(given["expires"], str):
        given["expires"] = timedelta(seconds=given["expires"])
    positional = given.pop("targets", ())
    return _on_the_wire(getattr(handle, verb.function.__name__)(*positional, **given))


def _on_the_wire(result: Any) -> Any:
    match result:
        case Return():
            return ReturnAnswer(
                id=result.id,
                kind=result.decision.kind,
                admitted=result.admitted,
                missing=result.missing,
                items=result.items,
                partial=result.partial,
                secret=result.secret,
            )
        case PresentAgent():
            return PresenceAnswer(token=result.token, until=result.until)
    return result


def _renewed(handle: Workspace, agent: Agent, *, token: int, epoch: int | None = None) -> PresenceAnswer:
    desk = desk_of(handle)
    held = tenure(desk.log, agent.identity.agent)
    fence = LeaseFence(agent.identity, token, 0 if held is None else held.lease.epoch)
    return PresenceAnswer(token=token, until=PresentAgent(handle, desk, fence).renew(epoch=epoch))


def _batch(workspace: Workspace, caller: Caller, values: BatchGiven) -> Sequence[Any]:
    handle, results = workspace.principal(caller.principal), []
    with handle.batch():
        for number, one in enumerate(values.calls):
            if one.verb not in IN_A_BATCH:
                allowed = ", ".join(sorted(IN_A_BATCH))
                raise RecordError(f"calls[{number}].verb: {one.verb!r} cannot be in a batch; these can: {allowed}")
            verb = _VERBS[one.verb]
            check_caller(verb, caller, None)
            given = convert(one.given, verb.given, what=f"calls[{number}].given")
            results.append(_called(verb, handle, {name: _plain(it) for name, it in given_fields(given).items()}))
    return results


def _plain(value: Any) -> Any:
    """A value as the library's functions take it, with mappings in place of bodies."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, msgspec.Struct) and type(value).__module__ == "readmit.remote.given_bodies":
        return given_fields(value)
    return value
