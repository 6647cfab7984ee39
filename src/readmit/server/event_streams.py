"""Server-sent events: the stages of a return, and items of a view that fall."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import StreamingResponse

from readmit.presence.subscription import AT_LEAST, Lookout
from readmit.records.error_types import ReadmitError
from readmit.remote.wire_values import FallenAnswer, StageAnswer
from readmit.returning.desk import stages_reported
from readmit.server.problems import problem_of
from readmit.server.verb_calls import call
from readmit.telemetry.measures import STREAMS
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from readmit.presence.subscription import FallenItem
    from readmit.server.service import Service
    from readmit.server.verb_routes import VerbRequest
    from readmit.workspace.workspace import Workspace


def is_asked_for(request: Request) -> bool:
    """Whether the caller wants a stream."""
    return "text/event-stream" in request.headers.get("accept", "")


def stream(events: AsyncIterator[bytes], heartbeat: float) -> StreamingResponse:
    """An answer that goes on. A comment is sent whenever it was silent for a while."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_kept_alive(events, heartbeat), 200, headers, "text/event-stream")


async def _kept_alive(events: AsyncIterator[bytes], heartbeat: float) -> AsyncIterator[bytes]:
    STREAMS.add(1)
    pending = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait((pending,), timeout=heartbeat)
            if not done:
                yield b": still here\n\n"
                continue
            if (event := pending.result()) is None:
                return
            yield event
            pending = asyncio.ensure_future(anext(events, None))
    finally:
        STREAMS.add(-1)
        pending.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await pending
        async with aclosing(events):  # type: ignore[type-var]  # an async generator
            pass


async def come_back_events(service: Service, asked: VerbRequest) -> AsyncIterator[bytes]:
    """A ``stage`` for each stage that begins, then ``returned`` with the outcome, or ``problem``."""
    loop, stages = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def report(stage: str) -> None:
        loop.call_soon_threadsafe(stages.put_nowait, stage)

    def decided(workspace: Workspace) -> Any:
        token = stages_reported.set(report)
        try:
            return call(asked.verb, workspace, asked.caller, asked.path, asked.values)
        finally:
            stages_reported.reset(token)

    assert asked.workspace is not None  # noqa: S101 - a return is in one
    running = asyncio.ensure_future(service.call(asked.workspace, decided, decides=True))
    running.add_done_callback(lambda _: stages.put_nowait(None))
    while (stage := await stages.get()) is not None:
        yield event("stage", StageAnswer(stage=stage))
    try:
        yield event("returned", running.result())
    except ReadmitError as error:
        yield event("problem", problem_of(error))


async def lookout_of(service: Service, asked: VerbRequest) -> Lookout:
    """Begins to look at the view that an agent holds."""
    values: Any = asked.values
    assert asked.workspace is not None  # noqa: S101 - a view is in one

    def begun(workspace: Workspace) -> Lookout:
        handle = workspace.principal(asked.caller.principal)
        agent = handle.agent(asked.caller.principal, role=values.role, task=values.task)
        return Lookout(desk_of(handle).writer, agent.identity, AT_LEAST)

    return await service.call(asked.workspace, begun)


async def fallen_events(service: Service, workspace: str, lookout: Lookout) -> AsyncIterator[bytes]:
    """A ``fallen`` for each item of the agent's view that no longer stands, from those that fell already on."""
    try:
        while True:
            for one in await service.call(workspace, lambda _: lookout.look(waits=True)):
                yield event("fallen", _fallen(one))
            await lookout.announced()
    except ReadmitError as error:
        yield event("problem", problem_of(error))
    finally:
        lookout.close()


def _fallen(one: FallenItem) -> FallenAnswer:
    return FallenAnswer(return_id=one.return_id, item=one.item, state=one.state)


def event(name: str, value: object) -> bytes:
    """One event of a stream. JSON has no line break in it."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value))
