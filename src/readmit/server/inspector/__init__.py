"""The inspector: pages for people who may inspect, made on the server, and buttons for those who may decide."""

from __future__ import annotations

from readmit.server.inspector.page_routes import inspector_routes

__all__ = ["inspector_routes"]
