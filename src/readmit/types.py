"""Values and handles that a program receives, for its annotations. ``readmit`` itself has those that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.diagnosis.checkup import Checkup
    from readmit.diagnosis.history import Explanation, Replay
    from readmit.diagnosis.symptoms import Diagnosis, Lack, Symptom, Trouble
    from readmit.presence.lease import Sweep, Sweeper, Unjudged
    from readmit.presence.subscription import FallenItem
    from readmit.records.acts.event import Checkpoint
    from readmit.records.decisions import Cause, CoverageReport, Decision, Disposition, DutyNote, ReturnView
    from readmit.records.evidence import Experience
    from readmit.records.items import Item, Receipt
    from readmit.records.retractions import Retraction, Retractions, RetractionView
    from readmit.returning.expose import RetractionBundle
    from readmit.workspace.admin import Admin
    from readmit.workspace.async_workspace import AsyncAdmin, AsyncDelivery, AsyncPresentAgent, AsyncSubscription
    from readmit.writing.forget import Forgotten
    from readmit.writing.item_content import ItemFields, UseFields
    from readmit.writing.new_event import ObservationEntry, ObservationFields
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.diagnosis.checkup": ("Checkup",),
            "readmit.diagnosis.history": (
                "Explanation",
                "Replay",
            ),
            "readmit.diagnosis.symptoms": (
                "Diagnosis",
                "Lack",
                "Symptom",
                "Trouble",
            ),
            "readmit.presence.lease": (
                "Sweep",
                "Sweeper",
                "Unjudged",
            ),
            "readmit.presence.subscription": ("FallenItem",),
            "readmit.records.acts.event": ("Checkpoint",),
            "readmit.records.decisions": (
                "Cause",
                "CoverageReport",
                "Decision",
                "Disposition",
                "DutyNote",
                "ReturnView",
            ),
            "readmit.records.evidence": ("Experience",),
            "readmit.records.items": (
                "Item",
                "Receipt",
            ),
            "readmit.records.retractions": (
                "Retraction",
                "RetractionView",
                "Retractions",
            ),
            "readmit.returning.expose": ("RetractionBundle",),
            "readmit.workspace.admin": ("Admin",),
            "readmit.workspace.async_workspace": (
                "AsyncAdmin",
                "AsyncDelivery",
                "AsyncPresentAgent",
                "AsyncSubscription",
            ),
            "readmit.writing.forget": ("Forgotten",),
            "readmit.writing.item_content": (
                "ItemFields",
                "UseFields",
            ),
            "readmit.writing.new_event": (
                "ObservationEntry",
                "ObservationFields",
            ),
        },
    )

__all__ = [
    "Admin",
    "AsyncAdmin",
    "AsyncDelivery",
    "AsyncPresentAgent",
    "AsyncSubscription",
    "Cause",
    "Checkpoint",
    "Checkup",
    "CoverageReport",
    "Decision",
    "Diagnosis",
    "Disposition",
    "DutyNote",
    "Experience",
    "Explanation",
    "FallenItem",
    "Forgotten",
    "Item",
    "ItemFields",
    "Lack",
    "ObservationEntry",
    "ObservationFields",
    "Receipt",
    "Replay",
    "Retraction",
    "RetractionBundle",
    "RetractionView",
    "Retractions",
    "ReturnView",
    "Sweep",
    "Sweeper",
    "Symptom",
    "Trouble",
    "Unjudged",
    "UseFields",
]
