"""Values and handles that a program receives, for its annotations. ``readmit`` itself has those that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.diagnosis.checkup import Checkup as Checkup
    from readmit.diagnosis.history import Explanation as Explanation
    from readmit.diagnosis.history import Replay as Replay
    from readmit.diagnosis.missing_needs import Lack as Lack
    from readmit.diagnosis.symptoms import Diagnosis as Diagnosis
    from readmit.diagnosis.symptoms import Symptom as Symptom
    from readmit.diagnosis.symptoms import Trouble as Trouble
    from readmit.presence.lease import Sweep as Sweep
    from readmit.presence.lease import Sweeper as Sweeper
    from readmit.presence.lease import Unjudged as Unjudged
    from readmit.presence.subscription import FallenItem as FallenItem
    from readmit.records.acts.event import Checkpoint as Checkpoint
    from readmit.records.decisions import Cause as Cause
    from readmit.records.decisions import CoverageReport as CoverageReport
    from readmit.records.decisions import Decision as Decision
    from readmit.records.decisions import Disposition as Disposition
    from readmit.records.decisions import DutyNote as DutyNote
    from readmit.records.decisions import ReturnView as ReturnView
    from readmit.records.evidence import Experience as Experience
    from readmit.records.items import Item as Item
    from readmit.records.items import Receipt as Receipt
    from readmit.records.retractions import Retraction as Retraction
    from readmit.records.retractions import Retractions as Retractions
    from readmit.records.retractions import RetractionView as RetractionView
    from readmit.returning.expose_retractions import RetractionBundle as RetractionBundle
    from readmit.workspace.admin import Admin as Admin
    from readmit.workspace.async_workspace import AsyncAdmin as AsyncAdmin
    from readmit.workspace.async_workspace import AsyncDelivery as AsyncDelivery
    from readmit.workspace.async_workspace import AsyncPresentAgent as AsyncPresentAgent
    from readmit.workspace.async_workspace import AsyncSubscription as AsyncSubscription
    from readmit.writing.item_content import ItemFields as ItemFields
    from readmit.writing.item_content import UseFields as UseFields
    from readmit.writing.new_event import ObservationEntry as ObservationEntry
    from readmit.writing.new_event import ObservationFields as ObservationFields
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.diagnosis.checkup": ("Checkup",),
            "readmit.diagnosis.history": (
                "Explanation",
                "Replay",
            ),
            "readmit.diagnosis.missing_needs": ("Lack",),
            "readmit.diagnosis.symptoms": (
                "Diagnosis",
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
            "readmit.returning.expose_retractions": ("RetractionBundle",),
            "readmit.workspace.admin": ("Admin",),
            "readmit.workspace.async_workspace": (
                "AsyncAdmin",
                "AsyncDelivery",
                "AsyncPresentAgent",
                "AsyncSubscription",
            ),
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
