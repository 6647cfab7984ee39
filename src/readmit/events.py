"""What a package needs to declare event kinds of its own. ``CONTRIBUTING.md`` shows one."""

from __future__ import annotations

from readmit.records.base import Id, Name, Note, Record, Text, Time
from readmit.records.events import EventKind
from readmit.records.kinds import DeclaredKind, Wording, declare
from readmit.records.references import ItemId, Why

__all__ = [
    "DeclaredKind",
    "EventKind",
    "Id",
    "ItemId",
    "Name",
    "Note",
    "Record",
    "Text",
    "Time",
    "Why",
    "Wording",
    "declare",
]
