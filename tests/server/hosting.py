"""A real server on loopback for tests: uvicorn in a thread, over a store of the test. Keys are plain words."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2 as httpx
import uvicorn

from readmit.errors import CredentialError
from readmit.server import Caller, Credentials, ServerSettings, make_app

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

TEAM, OTHER = "team", "rivals"
RIGHTS = frozenset({"agent", "write", "inspect", "admin"})


def caller(
    principal: str, *rights: str, roles: tuple[str, ...] = ("planner",), workspaces: tuple[str, ...] = (TEAM,)
) -> Caller:
    """A caller whose credential is named after it."""
    return Caller(
        principal=principal,
        roles=roles,
        workspaces=workspaces,
        rights=frozenset(rights),  # type: ignore[arg-type]  # words of the test
        credential=f"key of {principal}",
    )


CALLERS = {
    "all": caller("A1", *RIGHTS),
    "agent": caller("A1", "agent"),
    "other-agent": caller("A9", "agent"),
    "writer": caller("A2", "write"),
    "inspector": caller("I1", "inspect"),
    "admin": caller("root", "admin", workspaces=(TEAM, OTHER, "new")),
    "rival": caller("A1", *RIGHTS, workspaces=(OTHER,)),
}


class Words(Credentials):
    """Credentials of tests: the word after Bearer names the caller."""

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._callers = callers

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        word = headers.get("authorization", "").removeprefix("Bearer ")
        if word not in self._callers:
            raise CredentialError("authorization: this needs a credential; send `Authorization: Bearer KEY`")
        return self._callers[word]


class Hosted:
    """A server that runs."""

    def __init__(self, url: str, server: uvicorn.Server) -> None:
        self.url = url
        self.server = server

    def client(self, word: str = "all") -> httpx.Client:
        """A client with the credential of a caller."""
        headers = {"Authorization": f"Bearer {word}"} if word else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)


def hosted(store: Any, callers: Mapping[str, Caller] = CALLERS, **settings: Any) -> AbstractContextManager[Hosted]:
    """A server over a store until the block ends, with callers by their words."""
    return serving(store, Words(callers), **settings)


@contextmanager
def serving(store: Any, credentials: Credentials, *, port: int = 0, **settings: Any) -> Iterator[Hosted]:
    """Run a server over a store until the block ends."""
    app = make_app(ServerSettings(store=store, **settings), credentials)
    # With the protocol named, or asyncio leaves small packets waiting for each other.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        try:
            yield Hosted(f"http://127.0.0.1:{bound.getsockname()[1]}", server)
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server did not stop"
