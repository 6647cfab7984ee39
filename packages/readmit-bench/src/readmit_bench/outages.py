"""Classifies requests without an answer: permanently refused (a failure), or retryable later (an outage).

A request that a provider refuses for what it says (malformed, too long for the context window, filtered) is refused
again each time: that is a ``Failure``, which the caller handles, and an episode that ends this way keeps its line. A
lost connection, a rate limit, a broken server or a wrong key say nothing about the request: no line is written, and the
same command goes on later. After one wrong key, or some outages in a row, a run asks nothing more.
"""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING

from readmit.lab import failure_of
from readmit.models import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.models import Ask, Failure

PATIENCE = 3
"""How many outages in a row, each after the provider's own retries, end a run."""

# The request itself is wrong.
_REFUSED = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
)  # fmt: skip
# The key, the account, the address or the model's name is wrong, so every other request would fail too.
_HOPELESS = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.PAYMENT_REQUIRED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
    }
)
_FINAL_FAULTS = frozenset({Fault.REFUSED, Fault.TOO_LONG})


class Outage(Exception):  # noqa: N818  # nothing is wrong with the episode: it goes on later
    """No answer now. Not a ``ReadmitError``, because those become failures of the episode."""

    def __init__(self, message: str, *, hopeless: bool = False) -> None:
        super().__init__(message)
        self.hopeless = hopeless


class ProviderFailure(Exception):  # noqa: N818  # carries a failure out of a provider
    """One of readmit's own models gave this failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.fault}: {failure.message}")
        self.failure = failure


class Fuse:
    """The state of the providers, as seen by all requests of a run."""

    def __init__(self) -> None:
        self.blown = ""
        """Why nothing more is asked, if so."""
        self.outages: Counter[str] = Counter()
        self._in_a_row = 0

    def check(self) -> None:
        """Raise if nothing more is to be asked."""
        if self.blown:
            raise Outage(self.blown)

    def answered(self) -> None:
        """Record that a provider answered."""
        self._in_a_row = 0

    def failed(self, outage: Outage) -> None:
        """Record that a provider did not answer. Too many in a row end the run."""
        self.outages[str(outage)] += 1
        self._in_a_row += 1
        if not self.blown and (outage.hopeless or self._in_a_row >= PATIENCE):
            self.blown = str(outage)


def meaning(ask: Ask, role: str, error: Exception) -> Failure | Outage:
    """Classify an exception raised by a provider."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, Outage):
            return cause
        if isinstance(cause, ProviderFailure) and cause.failure.fault in _FINAL_FAULTS:
            return failure_of(ask, cause.failure.fault, cause.failure.message)
    status = next((code for cause in causes if (code := _status(cause)) is not None), None)
    refused = failure_of(ask, Fault.REFUSED, f"{role}: {_said(causes)}")
    if status in _REFUSED:
        return refused
    denied = any(isinstance(cause, ProviderFailure) and cause.failure.fault is Fault.DENIED for cause in causes)
    return Outage(refused.message, hopeless=denied or status in _HOPELESS)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and its causes, because retry errors and inspect's wrappers say little themselves."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        attempt = getattr(seen, "last_attempt", None)
        seen = attempt.exception() if attempt is not None else seen.__cause__


def _status(error: BaseException) -> int | None:
    for value in (
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        getattr(error, "code", None),
    ):
        if isinstance(value, int):
            return value
    return None


def _said(causes: list[BaseException]) -> str:
    """The first useful message; inspect's wrapper would print the whole request."""
    for cause in causes:
        if getattr(cause, "last_attempt", None) is None:
            if isinstance(cause, ProviderFailure):
                return str(cause)
            message = getattr(cause, "provider_message", None) or str(cause)
            return f"{type(cause).__name__}: {message}" if message else type(cause).__name__
    return type(causes[0]).__name__
