"""Routes of the inspector: who asks, for which workspace, and which page answers.

Every answer carries a strict content security policy. An error is a page with the status of the server's table.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from readmit.records.error_types import CredentialError, NotAllowedError, ReadmitError, RecordError
from readmit.server.inspector import item_pages, overviews, person_decisions, return_pages
from readmit.server.inspector.browser_sessions import LONGEST, BrowserSessions
from readmit.server.inspector.site import HEADERS, PAGES, Visit, asset, html, plain_page
from readmit.server.problems import AGAIN_SECONDS, status_of
from readmit.server.service import unknown_workspace
from readmit.server.verb_routes import CALLER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from starlette.requests import Request

    from readmit.server.caller import Caller, Credentials
    from readmit.server.inspector.browser_sessions import BrowserSession
    from readmit.server.service import Service
    from readmit.workspace.workspace import Workspace

    Answering = Callable[[Request], Awaitable[Response]]

logger = logging.getLogger("readmit.server")
LARGEST_FORM, MOST_FIELDS, LONGEST_QUERY = 64_000, 40, 32_000
LIVE_SECONDS = 1.0
"""How often a live page looks whether the log moved."""
_QUIET_LOOKS = 15
_VIEWS: Mapping[str, Callable[[Workspace, Visit], str]] = {
    "workspace": overviews.workspace_page,
    "returns": overviews.returns_page,
    "items": overviews.items_page,
    "log": overviews.log_page,
    "chain": overviews.chain_page,
    "return": return_pages.return_page,
    "replay": return_pages.replay_page,
    "ask": return_pages.ask_page,
    "item": item_pages.item_page,
    "slot": item_pages.slot_page,
    "waiting": person_decisions.waiting_page,
}


def inspector_routes(service: Service, credentials: Credentials, *, url: str = "") -> list[Route]:
    """The routes of the inspector, to be mounted at ``/``. Its cookies are for TLS alone where ``url`` is."""
    site = Inspector(service, BrowserSessions(credentials), is_secure=url.startswith("https://"))
    views = [Route(PAGES[name], _guarded(partial(site.view, view))) for name, view in _VIEWS.items()]
    return [
        Route(PAGES["home"], _guarded(site.home)),
        Route(PAGES["login"], _guarded(site.login), methods=["GET", "POST"]),
        Route(PAGES["logout"], _guarded(site.logout), methods=["POST"]),
        Route(PAGES["decide"], _guarded(site.decide), methods=["POST"]),
        Route(PAGES["live"], _guarded(site.live)),
        Route(PAGES["style"], partial(_asset, "inspector.css", "text/css")),
        Route(PAGES["script"], partial(_asset, "inspector.js", "text/javascript")),
        *views,
    ]


async def _asset(name: str, kind: str, _: Request) -> Response:
    return Response(asset(name), 200, {**HEADERS, "Cache-Control": "max-age=300"}, kind)


def _guarded(answering: Answering) -> Answering:
    """Answers with a page, whatever goes wrong."""

    async def answer(request: Request) -> Response:
        try:
            _check_query(request)
            return await answering(request)
        except CredentialError as error:
            if request.method == "GET":
                return RedirectResponse(PAGES["login"], 303, HEADERS)
            return plain_page("error.html", status_of(error), code=status_of(error), fault=str(error))
        except ReadmitError as error:
            status = status_of(error)
            made = plain_page("error.html", status, code=status, fault=str(error))
            if status == 503:  # noqa: PLR2004 - as in the table of problems
                made.headers["Retry-After"] = str(AGAIN_SECONDS)
            return made
        except Exception:
            logger.exception("a page of the inspector failed")
            fault = "This page could not be made. The server's log says why."
            return plain_page("error.html", 500, code=500, fault=fault)

    return answer


def _check_query(request: Request) -> None:
    if len(request.url.query) > LONGEST_QUERY:
        raise RecordError(f"query: more than {LONGEST_QUERY:,} characters; ask for less")


class Inspector:
    """The pages of one server."""

    def __init__(self, service: Service, sessions: BrowserSessions, *, is_secure: bool = False) -> None:
        self._service = service
        self._sessions = sessions
        self._is_secure = is_secure
        self._epochs: dict[str, tuple[float, int]] = {}

    async def _found(self, request: Request) -> tuple[BrowserSession, Caller]:
        found = await self._sessions.find(request.cookies.get(self._cookie(request), ""))
        request.scope[CALLER] = found[1]  # for the request log
        return found

    async def _visit(self, request: Request, given: Mapping[str, str]) -> Visit:
        session, caller = await self._found(request)
        name = given.get("in", "")
        if name not in caller.workspaces:
            raise unknown_workspace(name)
        return Visit(session, caller, name, given)

    async def view(self, view: Callable[[Workspace, Visit], str], request: Request) -> Response:
        """A page of a workspace."""
        visit = await self._visit(request, dict(request.query_params))
        return html(await self._service.call(visit.workspace, partial(_viewed, view, visit)))

    async def home(self, request: Request) -> Response:
        """The workspaces that the caller may reach."""
        session, caller = await self._found(request)
        there = [name for name in await self._service.names() if name in caller.workspaces]
        epochs = [await self._service.call(name, _epoch) for name in there]
        return plain_page("home.html", session=session, caller=caller, workspaces=list(zip(there, epochs, strict=True)))

    async def login(self, request: Request) -> Response:
        """A form for an API key, and the session that it begins."""
        if request.method == "GET":
            return self._login_page(request)
        given = await _form(request)
        token = request.cookies.get(self._cookie(request, "login"), "")
        if not token or not hmac.compare_digest(token.encode(), given.get("csrf", "").encode()):
            return self._login_page(request, "This form was open too long. Give the key again.", 403)
        try:
            name = await self._sessions.log_in(given.get("key", ""))
        except CredentialError as error:
            return self._login_page(request, str(error), 401)
        made = RedirectResponse(PAGES["home"], 303, HEADERS)
        self._keep(made, request, "session", name, LONGEST)
        self._drop(made, request, "login")
        return made

    async def logout(self, request: Request) -> Response:
        """End the session, here and in the browser."""
        session, _ = await self._found(request)
        session.check_csrf((await _form(request)).get("csrf", ""))
        self._sessions.log_out(request.cookies[self._cookie(request)])
        made = RedirectResponse(PAGES["login"], 303, {**HEADERS, "Clear-Site-Data": '"cache"'})
        self._drop(made, request, "session")
        return made

    async def decide(self, request: Request) -> Response:
        """Run a decision of a person, and show what waits then."""
        given = await _form(request)
        visit = await self._visit(request, given)
        visit.session.check_csrf(given.get("csrf", ""))
        try:
            await self._service.call(visit.workspace, partial(_decided, visit.caller, given))
        except ReadmitError as error:
            again = partial(person_decisions.waiting_page, visit=visit, fault=str(error))
            return html(await self._service.call(visit.workspace, again), status_of(error))
        return RedirectResponse(visit.place("waiting", done=given["act"]), 303, HEADERS)

    async def live(self, request: Request) -> Response:
        """The end of the log whenever it moves, as server-sent events, until the session ends."""
        visit = await self._visit(request, dict(request.query_params))
        headers = {**HEADERS, "X-Accel-Buffering": "no"}
        return StreamingResponse(self._moves(request, visit), 200, headers, "text/event-stream")

    async def _moves(self, request: Request, visit: Visit) -> AsyncIterator[bytes]:
        before, quiet = -1, 0
        while not await request.is_disconnected():
            try:
                await self._sessions.find(request.cookies.get(self._cookie(request), ""), is_use=False)
                epoch = await self._epoch(visit.workspace)
            except CredentialError:
                yield b"event: over\ndata: \n\n"
                return
            except ReadmitError:  # the server stops, or is busy: the browser asks again by itself
                return
            if epoch != before:
                before, quiet = epoch, 0
                yield b"event: epoch\ndata: %d\n\n" % epoch
            elif (quiet := quiet + 1) % _QUIET_LOOKS == 0:
                yield b": still here\n\n"
            await asyncio.sleep(LIVE_SECONDS)

    async def _epoch(self, workspace: str) -> int:
        """The end of a log, read once for all pages that follow it."""
        at, epoch = self._epochs.get(workspace, (float("-inf"), 0))
        if time.monotonic() - at >= LIVE_SECONDS:
            epoch = await self._service.call(workspace, _epoch)
            self._epochs[workspace] = (time.monotonic(), epoch)
        return epoch

    def _over_tls(self, request: Request) -> bool:
        return self._is_secure or request.url.scheme == "https"

    def _cookie(self, request: Request, what: str = "session") -> str:
        # With this prefix a browser takes the cookie only from this host, over TLS, for every path.
        return f"__Host-readmit-{what}" if self._over_tls(request) else f"readmit-{what}"

    def _keep(self, made: Response, request: Request, what: str, value: str, seconds: int) -> None:
        made.set_cookie(
            self._cookie(request, what), value, max_age=seconds, path="/", secure=self._over_tls(request),
            httponly=True, samesite="strict",
        )  # fmt: skip

    def _drop(self, made: Response, request: Request, what: str) -> None:
        self._keep(made, request, what, "", 0)

    def _login_page(self, request: Request, fault: str = "", status: int = 200) -> Response:
        token = secrets.token_hex(32)
        made = plain_page("login.html", status, csrf=token, fault=fault)
        self._keep(made, request, "login", token, 600)
        return made


def _viewed(view: Callable[[Workspace, Visit], str], visit: Visit, workspace: Workspace) -> str:
    return view(workspace, visit)


def _decided(caller: Caller, given: Mapping[str, str], workspace: Workspace) -> None:
    person_decisions.run_decision(workspace, caller, given)


def _epoch(workspace: Workspace) -> int:
    return workspace.epoch


async def _form(request: Request) -> dict[str, Any]:
    """The fields of a form that a page of this site sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowedError("form: it comes from another site; open the page here and repeat it")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise RecordError(f"form: more than {LARGEST_FORM:,} bytes; send less")
    try:
        return dict(
            parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
        )
    except ValueError:
        raise RecordError("form: it cannot be read; open the page again and repeat it") from None
