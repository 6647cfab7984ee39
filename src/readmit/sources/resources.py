"""Looks at resources of MCP servers, which the prober starts by the command that it was given for their name."""

from __future__ import annotations

import os
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readmit.records.base import shown
from readmit.records.error_types import GoneError, ProbeError
from readmit.records.probes import McpProbe
from readmit.sources.look import LookDeadline, check_size, reason
from readmit.sources.whole_source import WholeSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.from_thread import BlockingPortal

    from readmit.records.policy import LookRules

_NO_SUCH_RESOURCE, _INVALID = -32002, -32602
"""Error codes for an unknown resource in older and newer versions of the protocol; the newer adds its URI."""


class Resources(WholeSource[McpProbe]):
    """The MCP servers of one look. Each is started once, and ends with the look."""

    probe = McpProbe

    def __init__(self, limits: LookRules, servers: Mapping[str, Sequence[str]]) -> None:
        super().__init__(limits)
        self._servers = servers
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._clients: dict[str, Any] = {}

    def close(self) -> None:
        self._stack.close()

    def read(self, probe: McpProbe, deadline: LookDeadline) -> bytes:
        server, uri = probe.server, probe.uri
        command = self._servers.get(server)
        if not command:
            raise ProbeError(f"server: the prober knows no {shown(server)}; add it to mcp")
        try:
            import mcp
        except ImportError:
            raise ProbeError("pip install 'readmit[mcp]' to look at MCP resources") from None
        client = self._clients.get(server) or self._started(server, command, deadline)
        try:
            answer = _result(self._running().start_task_soon(client.read_resource, uri), deadline)
        except mcp.MCPError as error:
            unknown = error.error.code == _INVALID and error.error.data == {"uri": uri}
            if unknown or error.error.code == _NO_SUCH_RESOURCE:
                raise GoneError(f"the server has no {uri}") from None
            raise ProbeError(f"the server answers: {error.error.message}") from None
        texts = [getattr(content, "text", None) for content in answer.contents]
        if None in texts:
            raise ProbeError(f"{uri} is not text")
        data = "\n".join(text for text in texts if text is not None).encode()
        check_size(len(data), self._limits.bytes)
        return data

    def _started(self, server: str, command: Sequence[str], deadline: LookDeadline) -> Any:
        ready: Future[Any] = Future()
        # A client must be closed by the task that opened it, so one task holds it until the look ends.
        held = self._running().start_task_soon(_hold, command, deadline.left(), ready)
        self._stack.callback(held.cancel)
        self._clients[server] = _result(ready, deadline)
        return self._clients[server]

    def _running(self) -> BlockingPortal:
        """The event loop that the clients run in, on a thread of its own."""
        from anyio.from_thread import start_blocking_portal

        if self._portal is None:
            self._portal = self._stack.enter_context(start_blocking_portal())
        return self._portal


async def _hold(command: Sequence[str], seconds: float, ready: Future[Any]) -> None:
    """Run a server and keep a client of it open until this task is cancelled."""
    import anyio
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    try:
        with Path(os.devnull).open("w", encoding="utf-8") as quiet:  # noqa: ASYNC230 - it does not block
            transport = stdio_client(StdioServerParameters(command=command[0], args=list(command[1:])), errlog=quiet)
            # The last answer of a cache would hide a change.
            async with Client(transport, read_timeout_seconds=seconds, cache=None) as client:
                ready.set_result(client)
                await anyio.sleep_forever()
    except Exception as error:  # noqa: BLE001 - raised again where the client is waited for
        if not ready.done():
            ready.set_exception(ProbeError(f"the server cannot be started: {reason(error)}"))


def _result(future: Future[Any], deadline: LookDeadline) -> Any:
    try:
        return future.result(deadline.left())
    except (TimeoutError, CancelledError):
        future.cancel()
        raise ProbeError("the server took too long") from None
