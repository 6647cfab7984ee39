"""What may a returning agent still act on?

``Workspace`` is the way in; everything else here is a value it takes or gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.diagnosis.checkup import Checkup
from readmit.diagnosis.history import Explanation, Replay
from readmit.diagnosis.missing_needs import Lack
from readmit.diagnosis.symptoms import Diagnosis, Symptom, Trouble
from readmit.presence.lease import Sweep, Sweeper, Unjudged
from readmit.presence.subscription import FallenItem, Subscription
from readmit.records.acts.event import Checkpoint
from readmit.records.decisions import (
    Cause,
    CoverageReport,
    Decision,
    Disposition,
    DutyNote,
    ReturnView,
)
from readmit.records.error_types import ReadmitError
from readmit.records.evidence import Experience
from readmit.records.identity import Identity
from readmit.records.items import Item, Receipt
from readmit.records.lazy import lazily
from readmit.records.policy import LookRules, Policy
from readmit.records.reasons import DutyState, Reason, State
from readmit.records.retractions import Retraction, Retractions, RetractionView
from readmit.records.verdicts import Answer, Pair, Verdict
from readmit.returning.expose import Bundle
from readmit.returning.expose_retractions import RetractionBundle
from readmit.workspace.agent import Agent, PresentAgent
from readmit.workspace.return_handle import Return
from readmit.workspace.workspace import Workspace
from readmit.writing.item_content import ItemFields, UseFields
from readmit.writing.new_event import ObservationEntry, ObservationFields

if TYPE_CHECKING:
    from readmit.version import __version__ as __version__
    from readmit.workspace.async_workspace import (
        AsyncAgent,
        AsyncPresentAgent,
        AsyncReturn,
        AsyncSubscription,
        AsyncWorkspace,
    )
else:
    # asyncio alone takes half as long to import as all of this.
    __getattr__ = lazily(
        __name__,
        {
            "readmit.workspace.async_workspace": (
                "AsyncAgent",
                "AsyncPresentAgent",
                "AsyncReturn",
                "AsyncSubscription",
                "AsyncWorkspace",
            ),
            "readmit.version": ("__version__",),
        },
    )

__all__ = [
    "Agent",
    "Answer",
    "AsyncAgent",
    "AsyncPresentAgent",
    "AsyncReturn",
    "AsyncSubscription",
    "AsyncWorkspace",
    "Bundle",
    "Cause",
    "Checkpoint",
    "Checkup",
    "CoverageReport",
    "Decision",
    "Diagnosis",
    "Disposition",
    "DutyNote",
    "DutyState",
    "Experience",
    "Explanation",
    "FallenItem",
    "Identity",
    "Item",
    "ItemFields",
    "Lack",
    "LookRules",
    "ObservationEntry",
    "ObservationFields",
    "Pair",
    "Policy",
    "PresentAgent",
    "ReadmitError",
    "Reason",
    "Receipt",
    "Replay",
    "Retraction",
    "RetractionBundle",
    "RetractionView",
    "Retractions",
    "Return",
    "ReturnView",
    "State",
    "Subscription",
    "Sweep",
    "Sweeper",
    "Symptom",
    "Trouble",
    "Unjudged",
    "UseFields",
    "Verdict",
    "Workspace",
]
