"""Verbs of the handles on a server, made from the table: each is one request.

Whether its answer is waited for or awaited is the connection's, so blocking handles and those for an event loop share
them.
"""

from __future__ import annotations

import inspect
import re
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

import msgspec

from readmit.records.base import nfc, require_id, require_name, shown
from readmit.records.canonical import convert
from readmit.records.error_types import RecordError
from readmit.records.identity import Identity
from readmit.records.policy import OWNER, unreserved
from readmit.records.verdicts import Pair, Verdict
from readmit.remote.prepared_calls import arguments, prepared
from readmit.remote.verb_table import verbs
from readmit.remote.wire_values import ListPage
from readmit.workspace.admin import Admin
from readmit.workspace.agent import Agent
from readmit.workspace.return_handle import Return
from readmit.workspace.workspace import Workspace
from readmit.writing.author import Author

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from readmit.remote.connection import VerbCall
    from readmit.remote.verb_table import HandleName, Verb

C = TypeVar("C", bound=type)
OTHERWISE = {"batch", "suspect", "come_back", "present", "renew", "settle_duty"}
"""Verbs of the table that are methods under another name, or with more to them than a request and its answer."""
LISTINGS = ("agents", "returns", "items", "item", "log", "audit", "proof", "head", "keys")
"""Readings of what a workspace holds."""


class RemoteHandle:
    """A part of a workspace on a server, and the connection to it."""

    def __init__(self, connection: Any, author: Author, place: Mapping[str, str]) -> None:
        self._connection = connection
        self._author = author
        self._place = place

    def _ask(self, name: str, given: Mapping[str, Any], then: Callable[[Any], Any] = lambda answer: answer) -> Any:
        return self._connection.send(prepared(name, self._place, given), then)

    def _part(self, kind: Callable[..., Any], place: Mapping[str, str], *more: object) -> Any:
        return kind(self._connection, self._author, {**self._place, **place}, *more)


def _verb(
    name: str, function: Callable[..., object], then: Callable[[Any, Any], Any] = lambda _, answer: answer
) -> Callable[..., Any]:
    """A method that asks for a verb as the library's function is called; ``then`` gets the handle and the answer."""

    @wraps(function)
    def asked(self: Any, *args: object, **kwargs: object) -> Any:
        given = arguments(function, self._author, args, kwargs)
        return self._ask(name, given, lambda answer: then(self, answer))

    return asked


def with_verbs(handle: HandleName) -> Callable[[C], C]:
    """Decorates a class: adds a method for each verb that a handle has in the table."""

    def made(cls: C) -> C:
        for verb in verbs():
            is_own = verb.name in OTHERWISE or verb.name in vars(cls)
            if verb.handle == handle and not is_own and verb.function is not None:
                setattr(cls, verb.name, _verb(verb.name, verb.function))
        return cls

    return made


@with_verbs("workspace")
class WritingVerbs(RemoteHandle):
    """The verbs that write, as ``Workspace`` has them."""

    @wraps(Workspace.judge)
    def judge(self, *args: Any, **kwargs: Any) -> Any:
        given = arguments(Workspace.judge, self._author, args, kwargs)
        if not isinstance(given["found"], Verdict | Pair):
            raise RecordError(f"found: {shown(given['found'])} is neither a Verdict nor a Pair; give one of them")
        if isinstance(given["found"], Pair):
            return self._ask("suspect", given)
        return self._ask("judge", {name: one for name, one in given.items() if name != "signal"})


class BatchVerbs(WritingVerbs):
    """The verbs that write, kept until their batch is sent."""

    def __init__(self, connection: Any, author: Author, place: Mapping[str, str]) -> None:
        super().__init__(connection, author, place)
        self._kept: list[tuple[dict[str, Any], Callable[[Any], None]]] = []

    def _kept_as(self, name: str, given: Mapping[str, Any], fill: Callable[[Any], None]) -> None:
        body = prepared(name, self._place, given).body or b"{}"
        self._kept.append(({"verb": name, "given": msgspec.Raw(body)}, fill))

    def _send(self) -> Any:
        kept, self._kept = self._kept, []

        def fill_all(answers: list[Any]) -> None:
            for (_, fill), answer in zip(kept, answers, strict=True):
                fill(answer)

        calls = [call for call, _ in kept]
        return self._connection.send(prepared("batch", self._place, {"calls": calls}), fill_all)


@with_verbs("return")
class DeliveryVerbs(RemoteHandle):
    """The delivery of one return, as ``Delivery``."""


class ReturnReading(RemoteHandle):
    """Readings of a return for those who may inspect, as ``Return`` has them."""

    explain = _verb("explain", Return.explain)
    why = _verb("why", Return.why)
    drafts = _verb("drafts", Return.drafts)
    replay = _verb("replay", Return.replay)


@with_verbs("agent")
class AgentVerbs(RemoteHandle):
    """One principal in one role on one task."""

    _presence: Callable[..., Any]
    _delivery: Callable[..., Any]
    _return: Callable[..., Any]

    def __init__(self, connection: Any, author: Author, place: Mapping[str, str]) -> None:
        super().__init__(connection, author, place)
        self.identity = convert({**place, "principal": author.name}, Identity, what="agent")

    def __repr__(self) -> str:
        who = self.identity
        return f"<{type(self).__name__} {who.principal!r} as {who.role!r} on {who.task!r} in {who.workspace!r}>"

    settle = _verb("settle_duty", Agent.settle)
    present = _verb("present", Agent.present, lambda self, answer: self._part(self._presence, {}, answer))

    def search(self, query: str | None = None, *, limit: int | None = None) -> Any:
        """Search what this agent was handed and what still holds, by words; everything without a query."""
        given = {"query": query, "limit": limit}
        return self._ask("search", {name: one for name, one in given.items() if one is not None})

    def delivery(self, return_id: str, *, secret: str) -> Any:
        """The delivery of a return that another process of this workload was given, with the secret it was given."""
        return self._part(self._delivery, {"id": require_id("return_id", return_id), "secret": secret})

    def _coming_back(self, **given: str | None) -> VerbCall:
        return prepared("come_back", self._place, {name: one for name, one in given.items() if one is not None})

    def _decided(self, answer: Any) -> Any:
        return self._part(self._return, {"id": answer.id, "secret": answer.secret}, answer)

    def _subscribing(self) -> VerbCall:
        return prepared("subscribe", self._place, {})


@with_verbs("admin")
class AdminVerbs(RemoteHandle):
    """The verbs of a workspace's owner, as ``Admin``."""

    waiting = _verb("waiting", Admin.waiting)
    notices = _verb("notices", Admin.notices)


def _listed(verb: Verb) -> Callable[..., Any]:
    """A method for a listing of the table: all its entries, page after page, or its one answer."""
    in_path = [name for name in re.findall(r"{(\w+)}", verb.path) if name != "workspace"]
    fields = [name for name in verb.given.__struct_fields__ if name != "limit"]
    taken = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    taken += [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in in_path]
    taken += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in fields]
    is_paged = get_origin(verb.result) is ListPage

    def listed(self: Any, *args: object, **kwargs: object) -> Any:
        given = arguments(listed, self._author, args, kwargs)
        return (self._pages if is_paged else self._ask)(verb.name, given)

    listed.__name__, listed.__doc__ = verb.name, verb.says
    vars(listed)["__signature__"] = inspect.Signature(taken)
    return listed


class ListingVerbs(RemoteHandle):
    """Listings of what the workspace holds, for those who may inspect."""


for _row in verbs():
    if _row.name in LISTINGS:
        setattr(ListingVerbs, _row.name, _listed(_row))


class WorkspaceVerbs(WritingVerbs):
    """One workspace on a server."""

    _admin: Callable[..., Any]
    _agent: Callable[..., Any]
    _batch: Callable[..., Any]
    _listing: Callable[..., Any]
    _past: Callable[..., Any]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self._author.name!r}>"

    @property
    def name(self) -> str:
        return self._place["workspace"]

    @property
    def admin(self) -> Any:
        """Verbs of the owner, for keys with the right ``admin``."""
        return self._admin(self._connection, Author(OWNER), self._place)

    @property
    def listing(self) -> Any:
        """Listings of what the workspace holds, for keys with the right ``inspect``."""
        return self._part(self._listing, {})

    def principal(self, name: str) -> Any:
        """Return the handle itself if its key is that of the principal: the key says who writes."""
        self._author.acts_for(unreserved("name", nfc(require_name("name", name))))
        return self

    def agent(self, principal: str, *, role: str, task: str) -> Any:
        """A handle for the key's principal in one role on one task."""
        self._author.acts_for(unreserved("principal", nfc(principal)))
        return self._part(self._agent, {"role": nfc(role), "task": nfc(task)})

    def returned(self, return_id: str) -> Any:
        """A past return, to look into: its decision, why each item was in or out, and a replay."""
        name = require_id("return_id", return_id)
        return self._ask("returned", {"id": name}, lambda answer: self._part(self._past, {"id": name}, answer))

    def doctor(self, agent: AgentVerbs | None = None) -> Any:
        """The problems of one agent, or of all that departed, if they returned now. Nothing is written."""
        who = {} if agent is None else msgspec.structs.asdict(agent.identity)
        return self._ask("doctor", {name: one for name, one in who.items() if name != "workspace"})

    def batch(self) -> Any:
        """Several events, one commit: all of them or none. Its verbs have their results once it is over."""
        return self._part(self._batch, {})

    def close(self) -> Any:
        """Close the connection. Closing twice is harmless."""
        return self._connection.close()
