"""Sessions of browsers: kept in this process alone, ended by logging out, by time, or with their credential.

A browser holds a random name and nothing else. The credential that it logged in with stays here and is checked again
with every request, so a revoked key shows nothing more.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from readmit.records.canonical import digest_of
from readmit.records.error_types import CredentialError, NotAllowedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.server.caller import Caller, Credentials

LONGEST, IDLE = 8 * 3600, 3600
"""Seconds after which a session ends, and after which an unused one does."""
MOST = 10_000
"""Most sessions that are kept; one more ends the one that was used longest ago."""
OVER = "session: it is over; log in again"


@dataclass
class BrowserSession:
    """A browser that logged in."""

    authorization: str = field(repr=False)
    began: float
    used: float
    csrf: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)
    """The token that every form of this session carries."""

    def check_csrf(self, given: str) -> None:
        """Refuse a form that no page of this session made."""
        if not hmac.compare_digest(given.encode(), self.csrf.encode()):
            raise NotAllowedError("csrf: this form is not of this session; open the page again and repeat it")


class BrowserSessions:
    """The sessions of one server."""

    def __init__(self, credentials: Credentials, clock: Callable[[], float] = time.monotonic) -> None:
        self._credentials = credentials
        self._clock = clock
        self._sessions: OrderedDict[str, BrowserSession] = OrderedDict()

    async def log_in(self, key: str) -> str:
        """Begin a session with an API key. Returns the name that its browser keeps."""
        authorization = f"Bearer {key.strip()}"
        caller = await self._credentials.caller({"authorization": authorization})
        if "inspect" not in caller.rights:
            raise CredentialError(
                "key: it has no right to inspect; `readmit credentials add --right inspect` makes one"
            )
        name, now = secrets.token_urlsafe(32), self._clock()
        self._sessions[digest_of(name.encode())] = BrowserSession(authorization, now, now)
        while len(self._sessions) > MOST:
            self._sessions.popitem(last=False)
        return name

    async def find(self, name: str, *, is_use: bool = True) -> tuple[BrowserSession, Caller]:
        """A session and its caller, by the credential as it is now. A page that stays open by itself is no use."""
        held, now = digest_of(name.encode(errors="replace")), self._clock()
        session = self._sessions.get(held)
        if session is None or now - session.began > LONGEST or now - session.used > IDLE:
            self._sessions.pop(held, None)
            raise CredentialError(OVER)
        try:
            caller = await self._credentials.caller({"authorization": session.authorization})
        except CredentialError:
            caller = None
        if caller is None or "inspect" not in caller.rights:
            self._sessions.pop(held, None)
            raise CredentialError(OVER)
        if is_use:
            session.used = now
            self._sessions.move_to_end(held)
        return session, caller

    def log_out(self, name: str) -> None:
        """End a session."""
        self._sessions.pop(digest_of(name.encode(errors="replace")), None)
