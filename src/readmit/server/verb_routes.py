"""From a request to a verb: its place, its caller, what it is given, and its answer.

Places are found in the path as it was sent, so that ids may hold slashes (``%2F``).
"""

from __future__ import annotations

import logging
import re
import time
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec
from anyio import to_thread
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from readmit.records.canonical import decode, located
from readmit.records.error_types import CredentialError, ReadmitError, RecordError
from readmit.remote.verb_table import verbs
from readmit.remote.wire_values import ListPage, ProblemAnswer, WorkspaceAnswer
from readmit.server.event_streams import come_back_events, fallen_events, is_asked_for, lookout_of, stream
from readmit.server.kept_answers import KeptAnswers, checked_key, id_from
from readmit.server.problems import answer, plain_problem, problem
from readmit.server.server_metrics import NOTE
from readmit.server.verb_calls import call, check_caller, check_role
from readmit.telemetry.measures import REQUESTS
from readmit.telemetry.spans import PRINCIPAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request

    from readmit.remote.verb_table import Verb
    from readmit.server.caller import Caller, Credentials
    from readmit.server.service import Service
    from readmit.workspace.workspace import Workspace

logger = logging.getLogger("readmit.server")
JSON = "application/json"
IN_MEMORY = 1 << 20
"""Bytes of a long answer that are kept in memory, and that are sent at once."""
CALLER = "readmit.caller"
"""The key of the request's scope under which what checked the credential already leaves its caller."""


class VerbRequest(NamedTuple):
    """A request whose place and caller are known."""

    verb: Verb
    caller: Caller
    path: Mapping[str, str]
    """What the place names besides the workspace."""
    workspace: str | None
    values: msgspec.Struct
    body: bytes


class _RefusedError(Exception):
    """A request that is answered with a problem of its own."""

    def __init__(self, said: ProblemAnswer, headers: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.said = said
        self.headers = headers


class VerbRoutes:
    """Answers every request below ``/v1/workspaces``."""

    def __init__(self, service: Service, credentials: Credentials) -> None:
        self._service = service
        self._credentials = credentials
        self._kept = KeptAnswers()
        self._places: dict[int, list[tuple[list[str], dict[str, Verb]]]] = {}
        for verb in verbs():
            self._add(verb)

    def _add(self, verb: Verb) -> None:
        parts = verb.path.strip("/").split("/")
        places = self._places.setdefault(len(parts), [])
        for known, methods in places:
            if known == parts:
                methods[verb.method] = verb
                return
        places.append((parts, {verb.method: verb}))
        # A fixed word before a name: `returns` is no id.
        places.sort(key=lambda place: [part.startswith("{") for part in place[0]])

    async def __call__(self, request: Request) -> Response:
        """The answer to a request."""
        began, name = time.perf_counter(), "none"
        try:
            caller = await caller_of(request, self._credentials)
            verb, path = self._found(request)
            name = verb.name
            request.scope[NOTE]({"http.route": verb.path, PRINCIPAL: caller.principal})
            said = await self._answered(request, verb, path, caller)
        except _RefusedError as refused:
            said = answer(refused.said, refused.headers)
        except ReadmitError as error:
            headers = {"WWW-Authenticate": 'Bearer realm="readmit"'} if isinstance(error, CredentialError) else None
            said = problem(error, headers=headers)
        except Exception:
            logger.exception("a request for %s failed", name)
            said = answer(plain_problem("ServerError", 500, "the server failed to answer this; its log says why"))
        REQUESTS.add(time.perf_counter() - began, name, str(said.status_code))
        return said

    def _found(self, request: Request) -> tuple[Verb, dict[str, str]]:
        raw = request.scope.get("raw_path") or request.scope["path"].encode()
        try:
            parts = [unquote_to_bytes(one).decode() for one in raw.split(b"?")[0].strip(b"/").split(b"/")]
        except UnicodeDecodeError:
            raise RecordError("path: it is not UTF-8; percent-encode its names") from None
        for place, methods in self._places.get(len(parts), ()):
            if all(mine.startswith("{") or mine == part for mine, part in zip(place, parts, strict=True)):
                if request.method not in methods:
                    said = f"{request.method} is not answered here; use {' or '.join(sorted(methods))}"
                    raise _RefusedError(
                        plain_problem("MethodNotAllowed", 405, said), {"Allow": ", ".join(sorted(methods))}
                    )
                named = {mine[1:-1]: part for mine, part in zip(place, parts, strict=True) if mine.startswith("{")}
                return methods[request.method], named
        raise _RefusedError(
            plain_problem("NotFound", 404, "nothing is answered here; /v1/openapi.json lists the verbs")
        )

    async def _answered(self, request: Request, verb: Verb, path: dict[str, str], caller: Caller) -> Response:
        workspace = path.pop("workspace", None)
        check_caller(verb, caller, workspace)
        body = b"" if verb.method == "GET" else await body_of(request, self._service.settings.largest_body)
        values = _query(request, verb) if verb.method == "GET" else _given(request, verb, body)
        check_role(verb, caller, values)
        asked = VerbRequest(verb, caller, path, workspace, values, body)
        if workspace is None or verb.handle == "server":
            return _json(msgspec.json.encode(await self._of_server(asked)))
        if verb.name == "subscribe":
            events = fallen_events(self._service, workspace, await lookout_of(self._service, asked))
            return stream(events, self._service.settings.heartbeat)
        if verb.streams and is_asked_for(request):
            events = come_back_events(self._service, asked)
            return stream(events, self._service.settings.heartbeat)
        if verb.media != JSON:
            return await _filed(self._service, asked)
        key = request.headers.get("idempotency-key")
        if key is None or verb.method == "GET" or verb.is_idempotent:
            return _json(await self._called(asked))
        key, place = checked_key(key), f"{verb.name} {workspace} {sorted(path.items())}"
        asked = asked._replace(values=_under_key(asked, id_from(caller.principal, place, key)))
        return _json(await self._kept.answer(caller.principal, place, key, body, partial(self._called, asked)))

    async def _called(self, asked: VerbRequest) -> bytes:
        assert asked.workspace is not None  # noqa: S101 - only those of the server itself name none
        decides = asked.verb.name == "come_back"
        _, encoded = await self._service.call(asked.workspace, partial(_encoded_call, asked), decides=decides)
        return encoded

    async def _of_server(self, asked: VerbRequest) -> object:
        service = self._service
        who = asked.caller.principal
        if asked.workspace is not None:
            policy = getattr(asked.values, "policy", msgspec.UNSET)
            epoch = await service.start(asked.workspace, None if policy is msgspec.UNSET else policy)
            return WorkspaceAnswer(name=asked.workspace, epoch=epoch, principal=who)
        names = [name for name in await service.names() if name in asked.caller.workspaces]
        epochs = [await service.call(one, lambda it: it.epoch) for one in names]
        found = zip(names, epochs, strict=True)
        return ListPage(entries=tuple(WorkspaceAnswer(name=one, epoch=epoch, principal=who) for one, epoch in found))


async def caller_of(request: Request, credentials: Credentials) -> Caller:
    """The caller of a request, as what checked its credential first left it, or by its credential now."""
    known: Caller | None = request.scope.get(CALLER)
    return await credentials.caller(request.headers) if known is None else known


async def body_of(request: Request, largest: int) -> bytes:
    """The body of a request. It is not read further than it may be long."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > largest:
                said = f"body: it has more than {largest:,} bytes; send less at once"
                raise _RefusedError(plain_problem("TooLarge", 413, said), {"Connection": "close"})
    except ClientDisconnect:
        raise _RefusedError(plain_problem("Incomplete", 400, "body: the connection ended before it")) from None
    return b"".join(parts)


def _encoded_call(asked: VerbRequest, workspace: Any) -> tuple[object, bytes]:
    result = call(asked.verb, workspace, asked.caller, asked.path, asked.values)
    return result, msgspec.json.encode(result)


def _json(encoded: bytes) -> Response:
    return Response(encoded, media_type=JSON)


async def _filed(service: Service, asked: VerbRequest) -> Response:
    """An answer of many lines. It is written to a file first, so that no reader keeps the store waiting."""
    assert asked.workspace is not None  # noqa: S101 - only those of the server itself name none
    file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed once it was sent

    def write(workspace: Workspace) -> None:
        for line in call(asked.verb, workspace, asked.caller, asked.path, asked.values):
            file.write(line)
            file.write(b"\n")
        file.seek(0)

    async def parts() -> AsyncIterator[bytes]:
        while part := await to_thread.run_sync(file.read, IN_MEMORY):
            yield part

    try:
        await service.call(asked.workspace, write)
    except BaseException:
        file.close()
        raise
    return StreamingResponse(parts(), media_type=asked.verb.media, background=BackgroundTask(file.close))


def _given(request: Request, verb: Verb, body: bytes) -> msgspec.Struct:
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON:
        raise _RefusedError(plain_problem("UnsupportedMediaType", 415, "Content-Type: send application/json"))
    try:
        return decode(body or b"{}", verb.given, what=verb.name)
    except RecordError as error:
        raise RecordError(_of_the_caller(str(error), verb)) from None


def _query(request: Request, verb: Verb) -> msgspec.Struct:
    pairs = request.query_params.multi_items()
    values = dict(pairs)
    if len(values) != len(pairs):
        raise RecordError("query: a parameter is given twice; give each once")
    try:
        return msgspec.convert(values, verb.given, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise RecordError(_of_the_caller(located(str(error), verb.name, verb.given), verb)) from None


def _of_the_caller(text: str, verb: Verb) -> str:
    """An error in a body, worded as the library words it for a call."""
    text = re.sub(rf"^{verb.name}\.(?=[\w.\[\]]+: )", "", text)
    if text.startswith("by: "):
        return "by: the credential says who writes; leave it out"
    return text


def _under_key(asked: VerbRequest, id: str) -> msgspec.Struct:
    """What is given, with an id from the caller's key if it may have one and has none.

    A return needs none: each is a decision of its own, and the newest view replaces those before it.
    """
    if asked.verb.name == "come_back" or getattr(asked.values, "id", None) is not msgspec.UNSET:
        return asked.values
    return msgspec.structs.replace(asked.values, id=id)
