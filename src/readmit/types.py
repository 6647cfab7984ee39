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
    from readmit.records.acts.event import Checkpoint, Event
    from readmit.records.acts.looks import Looked
    from readmit.records.decisions import (
        Cause,
        ConstraintNote,
        CoverageReport,
        Decision,
        Disposition,
        DutyNote,
        Envelope,
        ReturnView,
        Signature,
        ViewItem,
        ViewSource,
    )
    from readmit.records.evidence import Evidence, Experience
    from readmit.records.items import (
        Drafted,
        Fact,
        Frontier,
        InterfaceConstraint,
        Interval,
        Item,
        Obligation,
        Receipt,
        RoleConstraint,
        Scope,
    )
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
            "readmit.records.acts.event": ("Checkpoint", "Event"),
            "readmit.records.acts.looks": ("Looked",),
            "readmit.records.decisions": (
                "Cause",
                "ConstraintNote",
                "CoverageReport",
                "Decision",
                "Disposition",
                "DutyNote",
                "Envelope",
                "ReturnView",
                "Signature",
                "ViewItem",
                "ViewSource",
            ),
            "readmit.records.evidence": ("Evidence", "Experience"),
            "readmit.records.items": (
                "Drafted",
                "Fact",
                "Frontier",
                "InterfaceConstraint",
                "Interval",
                "Item",
                "Obligation",
                "Receipt",
                "RoleConstraint",
                "Scope",
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
    "ConstraintNote",
    "CoverageReport",
    "Decision",
    "Diagnosis",
    "Disposition",
    "Drafted",
    "DutyNote",
    "Envelope",
    "Event",
    "Evidence",
    "Experience",
    "Explanation",
    "Fact",
    "FallenItem",
    "Forgotten",
    "Frontier",
    "InterfaceConstraint",
    "Interval",
    "Item",
    "ItemFields",
    "Lack",
    "Looked",
    "Obligation",
    "ObservationEntry",
    "ObservationFields",
    "Receipt",
    "Replay",
    "Retraction",
    "RetractionBundle",
    "RetractionView",
    "Retractions",
    "ReturnView",
    "RoleConstraint",
    "Scope",
    "Signature",
    "Sweep",
    "Sweeper",
    "Symptom",
    "Trouble",
    "Unjudged",
    "UseFields",
    "ViewItem",
    "ViewSource",
]
