"""One line about a project for a status bar. It reads one file, which each moment of a session writes, and no store."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from readmit.clients.project import Project

_LARGEST = 65_536
_LONGEST_FAULT = 120
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def read_status(project: Project) -> dict[str, Any] | None:
    """The status of a project as the last moment wrote it; empty before the first one, none where no agent works."""
    with suppress(OSError, ValueError, RecursionError), project.status_file.open("rb") as file:
        given = json.loads(file.read(_LARGEST))
        if isinstance(given, dict):
            return given
    return {} if project.store.exists() else None


def status_line(status: dict[str, Any], now: datetime) -> str:
    """The line. Whatever the file holds, it is one line of plain characters."""
    if not status:
        return "readmit: no session has started here yet"
    if status.get("kind") == "failed":
        return f"readmit: memory was not checked: {_plain(status.get('fault'))}{_ago(status.get('at'), now)}"
    counted = (("withdrawn", "no longer hold"), ("in_doubt", "in doubt"), ("unseen", "not looked at"))
    parts = [f"{number} {words}" for field, words in counted if (number := _count(status, field))] or ["nothing fell"]
    if number := _count(status, "items"):
        parts.append(f"{number} handed over")
    if status.get("moment") in ("end", "compact"):
        parts = ["departed"]
    elif status.get("kind") in ("blocked", "reset"):
        parts.insert(0, str(status["kind"]))
    return f"readmit: {', '.join(parts)}{_ago(status.get('at'), now)}"


def _count(status: dict[str, Any], field: str) -> int:
    value = status.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_LONGEST_FAULT]


def _ago(value: object, now: datetime) -> str:
    """How long ago a moment was; empty where it cannot be read."""
    with suppress(ValueError, TypeError):
        at = datetime.fromisoformat(value)  # type: ignore[arg-type]  # anything but a text is refused
        seconds = max(0, int((now - at.astimezone(UTC)).total_seconds()))
        for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
            if seconds >= unit:
                return f" · {seconds // unit} {name} ago"
        return " · just now"
    return ""
