"""Names with which a package declares event kinds of its own. ``CONTRIBUTING.md`` shows one."""

from __future__ import annotations

from readmit.records.acts.event import EventKind
from readmit.records.acts.kinds import DeclaredKind, Wording, declare
from readmit.records.acts.operation import ItemId, Why
from readmit.records.base import Id, Name, Note, Record, Text, Time

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
