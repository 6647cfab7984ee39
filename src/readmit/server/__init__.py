"""HTTP server: the verbs of a workspace for callers with credentials, and pages for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily
from readmit.server.caller import Caller, Credentials
from readmit.server.server_settings import ServerSettings

if TYPE_CHECKING:
    from readmit.server.asgi_app import make_app
else:
    # It needs starlette.
    __getattr__ = lazily(__name__, {"readmit.server.asgi_app": ("make_app",)})

__all__ = ["Caller", "Credentials", "ServerSettings", "make_app"]
