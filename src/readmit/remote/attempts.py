"""How often a request is sent: again while the server is away or says when to come again, and only if that is safe."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx2

from readmit.records.error_types import StoreError
from readmit.remote.problem_errors import error_of

if TYPE_CHECKING:
    from readmit.records.error_types import ReadmitError

_FIRST, _LONGEST = 0.1, 5.0
"""Seconds of the first pause, and of the longest that no server asked for."""
# A proxy's word that it does not know what became of the request.
_LOST = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT})
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class Attempts:
    """The attempts of one call. Each outcome is either a pause before the next attempt, or the call's error."""

    def __init__(self, server: str, patience: float) -> None:
        """``patience`` is for how many seconds the call is tried."""
        self._server = server
        self._patience = patience
        self._pause = _FIRST
        self.answered()

    def answered(self) -> None:
        """Count the seconds from now on: the server was there until now."""
        self._end = time.monotonic() + self._patience

    def after_failure(self, error: httpx2.HTTPError, *, is_safe: bool) -> float:
        """Seconds to wait after a request without an answer."""
        lost = StoreError(f"{self._server} does not answer: {str(error) or type(error).__name__}")
        if isinstance(error, httpx2.SSEError):
            raise lost
        if not (is_safe or isinstance(error, _NOT_SENT)):
            raise StoreError(f"{lost}; it may have done this: look before you repeat it")
        return self._next(lost)

    def after_answer(self, answer: httpx2.Response, *, is_safe: bool) -> float:
        """Seconds to wait after an answer that is no success."""
        error = error_of(answer.status_code, answer.headers.get("content-type", ""), answer.content)
        # Without a time to come again, it is a limit of the policy: an overseer has to act.
        is_limit = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS and "retry-after" in answer.headers
        is_lost = is_safe and answer.status_code in _LOST
        if not (is_limit or is_lost or answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE):
            raise error
        return self._next(error, _asked(answer.headers.get("retry-after", "")))

    def _next(self, error: ReadmitError, asked: float = 0.0) -> float:
        # Not all at the same moment: many clients of a server that restarts would come back together.
        pause = max(asked, self._pause * random.uniform(0.5, 1))  # noqa: S311 - no secret
        if time.monotonic() + pause > self._end:
            raise error
        self._pause = min(self._pause * 2, _LONGEST)
        return pause


def _asked(header: str) -> float:
    """Seconds that a ``Retry-After`` asks for: a number of them, or a date."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0
