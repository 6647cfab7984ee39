"""HTTP server: the verbs of a workspace for callers with credentials, and pages for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily
from readmit.server.caller import Caller, Credentials
from readmit.server.server_settings import ServerSettings

if TYPE_CHECKING:
    from readmit.server.access.api_keys import ApiKeys
    from readmit.server.access.bearer import BearerCredentials
    from readmit.server.access.entrance import Entrance
    from readmit.server.access.issued_tokens import IssuedTokens
    from readmit.server.access.request_limits import LimitSettings, RequestLimits
    from readmit.server.asgi_app import make_app
    from readmit.server.http_server import Serving, listening_at, whole_app
else:
    # They need the packages of the extra.
    __getattr__ = lazily(
        __name__,
        {
            "readmit.server.access.api_keys": ("ApiKeys",),
            "readmit.server.access.bearer": ("BearerCredentials",),
            "readmit.server.access.entrance": ("Entrance",),
            "readmit.server.access.issued_tokens": ("IssuedTokens",),
            "readmit.server.access.request_limits": ("LimitSettings", "RequestLimits"),
            "readmit.server.asgi_app": ("make_app",),
            "readmit.server.http_server": ("Serving", "listening_at", "whole_app"),
        },
    )

__all__ = [
    "ApiKeys",
    "BearerCredentials",
    "Caller",
    "Credentials",
    "Entrance",
    "IssuedTokens",
    "LimitSettings",
    "RequestLimits",
    "ServerSettings",
    "Serving",
    "listening_at",
    "make_app",
    "whole_app",
]
