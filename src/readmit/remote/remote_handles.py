"""Handles of a workspace on a server, blocking and for an event loop.

Their types are in ``remote_handles.pyi``, which ``python -m tests.docs.remote_stub`` writes from the table of verbs.
"""

from __future__ import annotations

from contextlib import aclosing, closing
from functools import wraps

import msgspec

from readmit.records.arguments import explained_call
from readmit.records.error_types import RecordError
from readmit.remote.prepared_calls import arguments
from readmit.remote.remote_subscription import AsyncRemoteSubscription, RemoteSubscription
from readmit.remote.remote_verbs import (
    AdminVerbs,
    AgentVerbs,
    BatchVerbs,
    DeliveryVerbs,
    ListingVerbs,
    RemoteHandle,
    ReturnReading,
    WorkspaceVerbs,
)
from readmit.remote.wire_values import ReturnAnswer, StageAnswer
from readmit.workspace.agent import PresentAgent
from readmit.workspace.return_handle import DecidedReturn


class BatchedResult:
    """The result of a verb in a batch: there once the batch is committed."""

    def __init__(self, verb):
        self._verb = verb

    def fill(self, value):
        self._value = value

    @property
    def value(self):
        try:
            return self._value
        except AttributeError:
            raise RecordError(f"value: {self._verb} is not written before its batch ends; read it after that") from None


class KeptVerbs(BatchVerbs):
    """The verbs of a batch, each with its result to come."""

    def _ask(self, name, given, then=None):  # noqa: ARG002 - the verbs of a batch answer as they are
        result = BatchedResult(name)
        self._kept_as(name, given, result.fill)
        return result


class RemoteBatch(KeptVerbs):
    """Several verbs that become one request and one commit when the block ends; nothing, if it ends with an error."""

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error is None and self._kept:
            self._send()


class AsyncRemoteBatch(KeptVerbs):
    """Several verbs in one request, as ``RemoteBatch``, with ``async with``. The verbs themselves are not awaited."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, error, *_):
        if error is None and self._kept:
            await self._send()


class RemoteDelivery(DeliveryVerbs):
    """The delivery of one return, as ``Delivery``."""


class AsyncRemoteDelivery(DeliveryVerbs):
    """The delivery of one return, as ``RemoteDelivery``, with verbs that are awaited."""


class RemoteReturn(DeliveryVerbs, ReturnReading):
    """The outcome of ``come_back``, as far as the agent may know it. ``RemoteWorkspace.returned`` reads all of it."""

    def __init__(self, connection, author, place, answer):
        super().__init__(connection, author, place)
        self._answer = answer

    def __repr__(self):
        named = self.items if self.admitted else self.missing
        said = f", {'with' if self.admitted else 'missing'} {', '.join(named)}" if named else ""
        return f"<{type(self).__name__} {self.id}: {self.kind}{said}>"

    def __getattr__(self, name):
        if hasattr(DecidedReturn, name) or name in {"request", "decision", "dispositions"}:
            raise AttributeError(f"{name}: not for the agent; read it with workspace.returned(id).{name}")
        raise AttributeError(f"a return on a server has no {name!r}")


def _of_the_answer(name):
    def read(self):
        return getattr(self._answer, name)

    return property(read)


for _name in ReturnAnswer.__struct_fields__:
    setattr(RemoteReturn, _name, _of_the_answer(_name))


class AsyncRemoteReturn(RemoteReturn):
    """The outcome of ``come_back``, as ``RemoteReturn``, with verbs that are awaited."""


class RemotePastReturn(DecidedReturn, ReturnReading):
    """A past return, to look into: its decision, why each item was in or out, and a replay."""

    def __init__(self, connection, author, place, answer):
        ReturnReading.__init__(self, connection, author, place)
        DecidedReturn.__init__(self, answer.request, answer.decision, answer.dispositions, secret="")


class AsyncRemotePastReturn(RemotePastReturn):
    """A past return, as ``RemotePastReturn``, with verbs that are awaited."""


class RemotePresentAgent(RemoteHandle):
    """An agent that is present under a lease."""

    def __init__(self, connection, author, place, answer):
        super().__init__(connection, author, place)
        self._held = answer

    @property
    def token(self):
        """Grows with every presence of the agent."""
        return self._held.token

    @property
    def until(self):
        """When the lease runs out, as of the last answer."""
        return self._held.until

    @wraps(PresentAgent.renew)
    def renew(self, *args, **kwargs):
        given = arguments(PresentAgent.renew, self._author, args, kwargs)

        def renewed(answer):
            self._held = answer
            return answer.until

        return self._ask("renew", {**given, "token": self.token}, renewed)


class AsyncRemotePresentAgent(RemotePresentAgent):
    """An agent that is present under a lease, as ``RemotePresentAgent``, with verbs that are awaited."""


class RemoteListing(ListingVerbs):
    """Listings of what a workspace on a server holds, page after page, for those who may inspect."""

    def _pages(self, name, given):
        while True:
            page = self._ask(name, given)
            yield from page.entries
            if page.next is None:
                return
            given = {**given, "after": page.next}


class AsyncRemoteListing(ListingVerbs):
    """Listings of what a workspace on a server holds, as ``RemoteListing``, for an event loop."""

    async def _pages(self, name, given):
        while True:
            page = await self._ask(name, given)
            for entry in page.entries:
                yield entry
            if page.next is None:
                return
            given = {**given, "after": page.next}


class RemoteAdmin(AdminVerbs):
    """The verbs of a workspace's owner on a server, as ``Admin``: for keys with the right ``admin``."""

    @property
    def policy(self):
        """The policy in force."""
        return self._ask("policy", {})


class AsyncRemoteAdmin(AdminVerbs):
    """The verbs of a workspace's owner on a server, as ``RemoteAdmin``, awaited."""

    def policy(self):
        """The policy in force."""
        return self._ask("policy", {})


class RemoteAgent(AgentVerbs):
    """One principal in one role on one task of a workspace on a server, as ``Agent``."""

    _presence, _delivery, _return = RemotePresentAgent, RemoteDelivery, RemoteReturn

    @explained_call
    def come_back(self, *, purpose=None, checkpoint=None, id=None, progress=None):
        """Decide what this agent may still act on. ``progress`` is called with the name of each stage that begins."""
        call = self._coming_back(purpose=purpose, checkpoint=checkpoint, id=id)
        with closing(self._connection.events(call)) as events:
            return self._decided(next(filter(None, (_outcome(event, call, progress) for event in events))))

    @explained_call
    def subscribe(self, *, report=None):
        """Learn at once when an item of the agent's view no longer stands. Iterate, or give ``report``."""
        return RemoteSubscription(self._connection.to, self._subscribing(), report=report)


class AsyncRemoteAgent(AgentVerbs):
    """One principal in one role on one task, as ``RemoteAgent``, with verbs that are awaited."""

    _presence, _delivery, _return = AsyncRemotePresentAgent, AsyncRemoteDelivery, AsyncRemoteReturn

    @explained_call
    async def come_back(self, *, purpose=None, checkpoint=None, id=None, progress=None):
        """Decide what this agent may still act on. ``progress`` is called with the name of each stage that begins."""
        call = self._coming_back(purpose=purpose, checkpoint=checkpoint, id=id)
        async with aclosing(self._connection.events(call)) as events:
            return self._decided(
                await anext(outcome async for event in events if (outcome := _outcome(event, call, progress)))
            )

    def subscribe(self):
        """Learn at once when an item of the view that this agent holds no longer stands."""
        return AsyncRemoteSubscription(self._connection, self._subscribing())


def _outcome(event, call, progress):
    """The outcome of a return, if an event says it; a stage is reported to ``progress``."""
    if event.event == "stage" and progress is not None:
        progress(msgspec.json.decode(event.data, type=StageAnswer).stage)
    return call.answer(event.data) if event.event == "returned" else None


class RemoteWorkspace(WorkspaceVerbs):
    """A team's log on a server, as ``Workspace``. ``connect`` makes it; the key says who writes."""

    _admin, _listing, _batch = RemoteAdmin, RemoteListing, RemoteBatch
    _agent, _past = RemoteAgent, RemotePastReturn

    @property
    def epoch(self):
        """The position of the last committed event."""
        return self._ask("status", {}).epoch

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class AsyncRemoteWorkspace(WorkspaceVerbs):
    """A team's log on a server, as ``RemoteWorkspace``, with verbs that are awaited. For one event loop."""

    _admin, _listing, _batch = AsyncRemoteAdmin, AsyncRemoteListing, AsyncRemoteBatch
    _agent, _past = AsyncRemoteAgent, AsyncRemotePastReturn

    def epoch(self):
        """The position of the last committed event."""
        return self._ask("status", {}, lambda answer: answer.epoch)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()
