"""The verbs of a server: one row each. Routes, the OpenAPI document and the remote clients are made from these rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct, UnsetType

from readmit.diagnosis.checkup import Checkup
from readmit.diagnosis.history import Explanation, Replay
from readmit.diagnosis.symptoms import Diagnosis
from readmit.presence.lease import Sweep
from readmit.records.acts.event import Checkpoint
from readmit.records.base import Id, Name
from readmit.records.evidence import Experience
from readmit.records.items import Drafted
from readmit.records.policy import Policy
from readmit.records.verdicts import Pair, Verdict
from readmit.remote.given_bodies import LARGEST, MomentText, Seconds, Whole, body, body_of, result_of
from readmit.remote.wire_values import (
    AgentEntry,
    BatchGiven,
    EventEntry,
    FallenAnswer,
    HeadAnswer,
    ItemEntry,
    ItemHistory,
    KeyEntry,
    ListPage,
    PastReturn,
    PresenceAnswer,
    ReturnAnswer,
    ReturnEntry,
    SearchAnswer,
    WorkspaceAnswer,
)
from readmit.returning.expose import Bundle, RetractionBundle
from readmit.trust.proofs import EventProof
from readmit.workspace.admin import Admin
from readmit.workspace.agent import Agent, PresentAgent
from readmit.workspace.return_handle import Delivery
from readmit.workspace.workspace import Workspace
from readmit.writing.forget import Forgotten
from readmit.writing.passed_plans import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Right: TypeAlias = Literal["agent", "write", "inspect", "admin"]
"""A right of a credential.

- ``agent``: depart, return, expose, acknowledge, read through the view, observe and draft, as the caller itself.
- ``write``: every verb of ``Workspace`` that writes, as the caller itself.
- ``inspect``: read items, reasons, past returns, the log and the audit, and the pages.
- ``admin``: the verbs of ``workspace.admin``, as ``owner``, and the keys.
"""
RIGHTS: tuple[Right, ...] = get_args(Right)

HandleName: TypeAlias = Literal["server", "workspace", "agent", "return", "admin", "reading"]
"""The handle that a verb belongs to; ``reading`` looks at what the store holds, ``server`` at its workspaces."""


@dataclass(frozen=True)
class Verb:
    """A verb of a server."""

    name: str
    handle: HandleName
    function: Callable[..., object] | None
    """The library's function; none for a reading, which the server itself answers."""
    rights: frozenset[Right]
    """Any one of them suffices."""
    method: Literal["GET", "POST", "PUT"]
    path: str
    given: type[Struct]
    """The body, or the query of a GET. What the path names is not in it."""
    result: Any
    """The type of the answer."""
    says: str
    """One sentence about it."""
    is_idempotent: bool = False
    """Whether a repetition, without a key, changes nothing and has the same answer."""
    streams: str = ""
    """The event of its stream, for a verb that answers with server-sent events if it is asked to."""
    media: str = "application/json"
    """The media type of its answer."""

    @property
    def is_agents(self) -> bool:
        """Whether the caller acts in one of its roles, which the body or the query names."""
        return self.handle in ("agent", "return") or self.name in ("search", "subscribe")


_ANYBODY: tuple[Right, ...] = RIGHTS
_IN_ROLE: Mapping[str, Any] = {"role": Name, "task": Name}
_Limit = Annotated[int, msgspec.Meta(ge=1, le=500)]
_After = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
_Query = Annotated[str, msgspec.Meta(max_length=400)]
_Few = Annotated[int, msgspec.Meta(ge=1, le=40)]
_OVER_HTTP = "/v1/workspaces/{workspace}"


def _verb(
    handle: HandleName,
    function: Callable[..., object],
    *rights: Right,
    name: str = "",
    result: Any = None,
    left_out: tuple[str, ...] = (),
    is_idempotent: bool = False,
    streams: str = "",
    **own: Any,
) -> Verb:
    called = name or function.__name__
    folder = {"agent": "", "workspace": "", "admin": "/admin", "return": "/returns/{id}"}[handle]
    in_role = _IN_ROLE if handle in ("agent", "return") else {}
    if handle == "return":
        own["secret"] = str
    return Verb(
        called,
        handle,
        function,
        frozenset(rights),
        "POST",
        f"{_OVER_HTTP}{folder}/{called}",
        body_of(called, function, frozenset(left_out), **in_role, **own),
        result_of(function) if result is None else result,
        _sentence(function),
        is_idempotent,
        streams,
    )


def _reading(
    name: str,
    path: str,
    result: Any,
    says: str,
    *rights: Right,
    paged: bool = False,
    streams: str = "",
    media: str = "application/json",
    **query: Any,
) -> Verb:
    if paged:
        query |= {"after": _After | UnsetType, "limit": _Limit | UnsetType}
    made = body(name, **query)
    return Verb(
        name,
        "reading",
        None,
        frozenset(rights),
        "GET",
        _OVER_HTTP + path,
        made,
        result,
        says,
        is_idempotent=True,
        streams=streams,
        media=media,
    )


def _sentence(function: Callable[..., object]) -> str:
    return (function.__doc__ or "").split("\n\n")[0].split("\n")[0]


_WRITES = (
    _verb("workspace", Workspace.observe, "write", "agent", text=str),
    _verb("workspace", Workspace.observe_many, "write", "agent"),
    _verb("workspace", Workspace.record, "write", is_idempotent=True),
    _verb("workspace", Workspace.oblige, "write", is_idempotent=True),
    _verb("workspace", Workspace.progress, "write", is_idempotent=True),
    _verb("workspace", Workspace.supersede, "write"),
    _verb("workspace", Workspace.revoke, "write"),
    _verb("workspace", Workspace.close_validity, "write"),
    _verb("workspace", Workspace.settle, "write"),
    _verb("workspace", Workspace.dispute, "write"),
    _verb("workspace", Workspace.resolve, "write"),
    _verb("workspace", Workspace.judge, "write", left_out=("signal",), found=Verdict),
    _verb("workspace", Workspace.judge, "write", name="suspect", found=Pair),
    _verb("workspace", Workspace.link, "write"),
    _verb("workspace", Workspace.confirm, "write"),
)
_BATCH = Verb(
    "batch",
    "workspace",
    Workspace.batch,
    frozenset({"write"}),
    "POST",
    f"{_OVER_HTTP}/batch",
    BatchGiven,
    tuple[Any, ...],
    "Several calls of verbs that write, in one durable commit: all of them or none.",
)
# What would tell an agent about the state, or end part of it, is no part of a draft.
_NO_DRAFT = ("drafted", "supersedes", "inherits", "expects", "expects_nothing", "kind")
_AGENTS = (
    _verb("agent", Agent.depart, "agent"),
    _verb("agent", Agent.come_back, "agent", result=ReturnAnswer, streams="stage"),
    _verb("agent", Agent.present, "agent", result=PresenceAnswer, lease=Seconds | Whole),
    _verb("agent", PresentAgent.renew, "agent", result=PresenceAnswer, token=Whole),
    _verb("agent", Agent.recall, "agent", result=tuple[Experience, ...], is_idempotent=True),
    _verb("agent", Agent.departed, "agent", result=Checkpoint, is_idempotent=True),
    _verb("agent", Agent.now, "agent", result=datetime, is_idempotent=True),
    _verb("agent", Agent.remember, "write"),
    _verb("agent", Agent.settle, "write", name="settle_duty"),
    _verb("agent", Workspace.record, "agent", name="draft", left_out=_NO_DRAFT, drafted=Drafted, is_idempotent=True),
)
_DELIVERIES = (
    _verb("return", Delivery.expose, "agent", left_out=("within_batch",), result=Bundle, is_idempotent=True),
    _verb("return", Delivery.expose_retractions, "agent", left_out=("within_batch",), result=RetractionBundle),
    _verb("return", Delivery.acknowledge, "agent", is_idempotent=True),
)
_ADMINS = (
    _verb("admin", Admin.approve, "admin"),
    _verb("admin", Admin.decline, "admin"),
    _verb("admin", Admin.reassign, "admin"),
    _verb("admin", Admin.void, "admin"),
    _verb("admin", Admin.govern, "admin"),
    _verb("admin", Admin.forget, "admin", result=Forgotten),
    _verb("admin", Admin.overrule, "admin", expires=MomentText | Seconds),
    _verb("admin", Admin.sweep, "admin", result=Sweep),
)
_SERVER = (
    Verb(
        "workspaces", "server", None, frozenset(_ANYBODY), "GET", "/v1/workspaces", body("workspaces"),
        ListPage[WorkspaceAnswer], "The workspaces that the caller may reach.", is_idempotent=True,
    ),
    Verb(
        "start", "server", Workspace.open, frozenset({"admin"}), "PUT", _OVER_HTTP,
        body("start", policy=Policy | UnsetType), WorkspaceAnswer,
        "Start a workspace, under a policy. One that exists stays as it is.", is_idempotent=True,
    ),
)  # fmt: skip
_READINGS = (
    Verb(
        "search", "reading", None, frozenset({"agent"}), "POST", f"{_OVER_HTTP}/search",
        body("search", **_IN_ROLE, query=_Query | UnsetType, limit=_Few | UnsetType), SearchAnswer,
        "Search what this agent was handed and what still holds, by words.", is_idempotent=True,
    ),
    _reading("status", "", WorkspaceAnswer, "The workspace and the position of its last event.", *_ANYBODY),
    _reading(
        "subscribe", "/subscribe", FallenAnswer, "Learn at once when an item of the agent's view no longer stands.",
        "agent", streams="fallen", **_IN_ROLE,
    ),
    _reading(
        "agents", "/agents", tuple[AgentEntry, ...], "The last departure of every agent, and who is away.", "inspect"
    ),
    _reading("returns", "/returns", ListPage[ReturnEntry], "Past returns, oldest first.", "inspect", paged=True),
    _reading("returned", "/returns/{id}", PastReturn, "A past return with every disposition.", "inspect"),
    _reading("explain", "/returns/{id}/explain/{item}", Explanation, "Why an item was in or out.", "inspect"),
    _reading("why", "/returns/{id}/why", Diagnosis, "The causes of an outcome, and what would fix it now.", "inspect"),
    _reading("drafts", "/returns/{id}/drafts", dict[str, Drafted], "Candidates that a model drafted.", "inspect"),
    _reading("replay", "/returns/{id}/replay", Replay, "A past decision beside its recomputation.", "inspect"),
    _reading(
        "items", "/items", ListPage[ItemEntry], "Items with their texts, and whether each stands now.", "inspect",
        paged=True, slot=Id | UnsetType, task=Name | UnsetType, text=str | UnsetType,
    ),
    _reading("item", "/items/{id}", ItemHistory, "An item and every event about it.", "inspect"),
    _reading("log", "/log", ListPage[EventEntry], "Events in order.", "inspect", paged=True),
    _reading(
        "audit", "/audit", ListPage[Any], "Rows of the audit as `readmit audit export` writes them.", "inspect",
        paged=True,
    ),
    _reading(
        "audit_export", "/audit/export", str, "The audit as lines of JSON, from which the tree can be recomputed.",
        "inspect", media="application/x-ndjson",
    ),
    _reading("proof", "/proof/{epoch}", EventProof, "Proof that an event is in the log.", "inspect"),
    _reading("head", "/head", HeadAnswer, "The signed head of the log.", "inspect"),
    _reading("keys", "/keys", tuple[KeyEntry, ...], "Keys whose signatures count.", *_ANYBODY),
    _reading(
        "doctor", "/doctor", Checkup, "The problems of one agent, or of all that departed, if they returned now.",
        "inspect", principal=Name | UnsetType, role=Name | UnsetType, task=Name | UnsetType,
    ),
    _reading("policy", "/admin/policy", Policy, "The policy in force.", "admin", "inspect"),
    _reading("waiting", "/admin/waiting", tuple[EventEntry, ...], "Acts that wait for an overseer.", "admin"),
    _reading("notices", "/admin/notices", tuple[Notice, ...], "Plans that later news passed over.", "admin"),
)  # fmt: skip

_VERBS: tuple[Verb, ...] = (*_SERVER, *_WRITES, _BATCH, *_AGENTS, *_DELIVERIES, *_ADMINS, *_READINGS)
IN_A_BATCH = frozenset(verb.name for verb in _WRITES)
"""The verbs that a batch may call."""


def verbs() -> tuple[Verb, ...]:
    """Every verb of a server."""
    return _VERBS
