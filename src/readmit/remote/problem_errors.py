"""Errors that a server names in its answer, raised again as the class that they are there, with the same text."""

from __future__ import annotations

import msgspec

from readmit import errors
from readmit.records.error_types import ExposureError, ReadmitError, StoreError
from readmit.remote.wire_values import ProblemAnswer

PROBLEM = "application/problem+json"
_ANSWERED = msgspec.json.Decoder(ProblemAnswer)


def error_of(status: int, media_type: str, body: bytes) -> ReadmitError:
    """The error that an answer stands for. One that no readmit server wrote, as a proxy's, is a ``StoreError``."""
    if not media_type.startswith(PROBLEM):
        return StoreError(f"the server answered {status} without saying why: is a readmit server at this address?")
    try:
        return error_named(_ANSWERED.decode(body))
    except msgspec.MsgspecError:
        return StoreError(f"the server answered {status} with a problem that this version cannot read; update readmit")


def error_named(problem: ProblemAnswer) -> ReadmitError:
    """The error that a problem names."""
    name = problem.type.rpartition("/")[2]
    kind = getattr(errors, name, None) if name in errors.__all__ else None
    said = problem.detail or problem.title
    if kind is ExposureError:
        return ExposureError(said, problem.reasons)
    if not (isinstance(kind, type) and issubclass(kind, ReadmitError)) or kind is errors.PendingAnswers:
        return ReadmitError(said)
    return kind(said)
