"""Errors as ``application/problem+json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from readmit.records.error_types import CredentialError, RateError, ReadmitError, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATUS: tuple[tuple[type[ReadmitError], int], ...] = ((CredentialError, 401), (RateError, 429), (StoreError, 503))


def problem(error: ReadmitError, *, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that an error becomes."""
    code = status or next((one for kind, one in _STATUS if isinstance(error, kind)), 400)
    name = type(error).__name__
    said = {"type": f"/problems/{name}", "title": name, "status": code, "detail": str(error)}
    return Response(msgspec.json.encode(said), code, dict(headers or {}), "application/problem+json")
