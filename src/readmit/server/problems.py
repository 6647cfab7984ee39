"""Errors as ``application/problem+json``: one table from the class of an error to the status of its answer."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from readmit.records.error_types import (
    AuditError,
    BackendError,
    ConflictError,
    CredentialError,
    ExposureError,
    LeaseError,
    LostStateError,
    ModelError,
    NotAllowedError,
    ProbeError,
    QuarantineError,
    RateError,
    ReadmitError,
    RecordError,
    SealError,
    StaleAnswerError,
    StoreError,
    TamperedError,
    UnknownError,
    WitnessError,
)
from readmit.remote.wire_values import ProblemAnswer
from readmit.server.service import BusyError

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger("readmit.server")
MEDIA_TYPE = "application/problem+json"
AGAIN_SECONDS = 2
"""Seconds that a caller should wait before it tries again, where no better time is known."""
_STATUS: Mapping[type[ReadmitError], int] = {
    CredentialError: 401,
    RateError: 429,
    NotAllowedError: 403,
    UnknownError: 404,
    ConflictError: 409,
    LeaseError: 409,
    QuarantineError: 409,
    LostStateError: 409,
    StaleAnswerError: 409,
    ExposureError: 409,
    SealError: 409,
    AuditError: 409,
    RecordError: 422,
    ProbeError: 422,
    BackendError: 502,
    ModelError: 502,
    WitnessError: 502,
    TamperedError: 500,
    StoreError: 503,
}
_STORE_FAILED = "the store failed or cannot be reached; the server's log says why. Call again, under the same id or key"
_ALTERED = "the store was altered: `readmit audit verify` says where"
_FIELD = re.compile(r"([A-Za-z_][\w.\[\]-]{0,100}): ")


def status_of(error: ReadmitError) -> int:
    """The status of the answer to a request that failed so: that of the nearest class in the table."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 400)


def problem_of(error: ReadmitError, *, status: int | None = None) -> ProblemAnswer:
    """An error as a caller reads it."""
    name, text = type(error).__name__, str(error)
    if isinstance(error, BusyError):
        name = StoreError.__name__
    elif isinstance(error, StoreError):
        # The text names the server's file, or its database and user: that is for the operator.
        logger.error("%s: %s", name, text)
        text = _ALTERED if isinstance(error, TamperedError) else _STORE_FAILED
    field = _FIELD.match(text) if isinstance(error, RecordError | NotAllowedError) else None
    return ProblemAnswer(
        type=f"/problems/{name}",
        title=name,
        status=status_of(error) if status is None else status,
        detail=text,
        field=None if field is None else field[1],
        reasons=error.reasons if isinstance(error, ExposureError) else (),
    )


def problem(error: ReadmitError, *, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that an error becomes."""
    return answer(problem_of(error, status=status), headers)


def answer(said: ProblemAnswer, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as an answer. Limits of the server say by a header when to come again, one of the policy does not."""
    again = {"Retry-After": str(AGAIN_SECONDS)} if said.status == _STATUS[StoreError] else {}
    return Response(msgspec.json.encode(said), said.status, {**again, **(headers or {})}, MEDIA_TYPE)


def plain_problem(title: str, status: int, detail: str) -> ProblemAnswer:
    """A problem of the request itself, or of the server, that is none of the library's errors."""
    return ProblemAnswer(type=f"/problems/{title}", title=title, status=status, detail=detail)
