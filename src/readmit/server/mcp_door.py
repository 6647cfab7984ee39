"""``/mcp``: the tools of the caller's agent, over MCP's streamable HTTP.

Each request stands by itself: its credential is checked, and no session is kept that another could take over. The
credential says who the agent is; the address says on which task, and in which workspace and role if it has several.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers, QueryParams
from starlette.routing import Route

from readmit.clients.agent_tools.tool_inputs import AGENT_INPUTS, tool_input
from readmit.clients.agent_tools.tool_server import make_server
from readmit.clients.agent_tools.view_tools import ViewTools
from readmit.records.error_types import CredentialError, NotAllowedError, ReadmitError, RecordError
from readmit.server.access.entrance import CHALLENGE
from readmit.server.problems import answer, plain_problem, problem
from readmit.server.service import unknown_workspace
from readmit.server.verb_calls import check_drafts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from readmit.server.caller import Caller, Credentials
    from readmit.workspace.workspace import Workspace

PATH = "/mcp"
_SEAT = "readmit.seat"
_DRAFT = frozenset({"remember", "settle"})
_ONLY_POST = answer(plain_problem("MethodNotAllowed", 405, "the tools are asked by POST"), {"Allow": "POST"})
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Work(Protocol):
    """Runs something in a workspace, as the caller's principal, off the event loop."""

    def __call__(
        self, caller: Caller, workspace: str, do: Callable[[Workspace], dict[str, Any]]
    ) -> Awaitable[dict[str, Any]]: ...


class _Seat(NamedTuple):
    """The agent that a request speaks for."""

    caller: Caller
    workspace: str
    role: str
    task: str


class McpDoor:
    """The MCP server of one HTTP server: its routes, and the manager that runs while the server does."""

    def __init__(self, credentials: Credentials, work: Work, url: str, issuers: Sequence[str]) -> None:
        self._credentials = credentials
        self._work = work
        self._resource = AnyHttpUrl(f"{url}{PATH}")
        self._issuers = issuers
        self.challenge = CHALLENGE
        """The answer to a request without a good credential, with the address of the metadata if there is one."""
        if issuers:
            self.challenge += f', resource_metadata="{build_resource_metadata_url(self._resource)}"'
        hosts = [urlsplit(url).netloc, *(f"{host}:*" for host in _LOOPBACK)]
        origins = [url, *(f"http://{host}:*" for host in _LOOPBACK)]
        self._manager = StreamableHTTPSessionManager(
            make_server(self, AGENT_INPUTS), json_response=True, stateless=True,
            security_settings=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),
        )  # fmt: skip

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Answer requests until the server stops."""
        async with self._manager.run():
            yield

    def routes(self) -> list[BaseRoute]:
        """The door itself, and the metadata that says which providers issue tokens for it, if any do."""
        metadata: list[BaseRoute] = []
        if self._issuers:
            servers = [AnyHttpUrl(one) for one in self._issuers]
            metadata += create_protected_resource_routes(self._resource, servers, ["agent"], "readmit")
        return [Route(PATH, self), *metadata]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            caller = await self._credentials.caller(Headers(scope=scope))
            scope[_SEAT] = _seat(caller, QueryParams(scope["query_string"]))
        except CredentialError as error:
            await problem(error, headers={"WWW-Authenticate": self.challenge})(scope, receive, send)
        except ReadmitError as error:
            await problem(error)(scope, receive, send)
        else:
            # There is no session, so nothing would ever be sent on the stream that a GET opens.
            app = self._manager.asgi_app if scope["method"] == "POST" else _ONLY_POST
            await app(scope, receive, send)

    async def tool(self, context: Any, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a tool. Its input is checked before anything is opened."""
        checked = tool_input(name, given, AGENT_INPUTS)
        return await self._asked(context, lambda tools: tools.call(checked), drafts=name in _DRAFT)

    async def view(self, context: Any) -> dict[str, Any]:
        """The current view."""
        return await self._asked(context, lambda tools: tools.view())

    async def _asked(
        self, context: Any, ask: Callable[[ViewTools], dict[str, Any]], *, drafts: bool = False
    ) -> dict[str, Any]:
        seat: _Seat = context.request.scope[_SEAT]

        def do(own: Workspace) -> dict[str, Any]:
            agent = own.agent(seat.caller.principal, role=seat.role, task=seat.task)
            if drafts:
                check_drafts(own)
            return ask(ViewTools(own, agent, f"{seat.caller.principal}, by its own tool"))

        return await self._work(seat.caller, seat.workspace, do)


def _seat(caller: Caller, query: QueryParams) -> _Seat:
    """The agent that the address names, within what the credential allows."""
    if "agent" not in caller.rights:
        raise NotAllowedError("rights: this credential has not the right `agent`, which the tools are for")
    workspace = query.get("workspace") or _only("workspace", caller.workspaces)
    if workspace not in caller.workspaces:
        raise unknown_workspace(workspace)
    role = query.get("role") or _only("role", caller.roles)
    if role not in caller.roles:
        raise NotAllowedError(f"role: this credential may not act as {role!r}")
    if not (task := query.get("task")):
        raise RecordError(f"task: name it in the address, as in {PATH}?task=family-trip")
    return _Seat(caller, workspace, role, task)


def _only(field: str, values: Sequence[str]) -> str:
    if len(values) != 1:
        raise RecordError(
            f"{field}: this credential has {len(values)}; name one in the address, as in {PATH}?{field}=…"
        )
    return values[0]
