"""What may a returning agent still act on?

``Workspace`` is the way in; everything else here is a value it takes or gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import (
    Cause,
    CoverageReport,
    Decision,
    Disposition,
    DutyNote,
    ReturnView,
)
from readmit.records.errors import ReadmitError
from readmit.records.events import Checkpoint
from readmit.records.evidence import Experience
from readmit.records.identity import Identity
from readmit.records.items import Item, Receipt
from readmit.records.lazy import lazily
from readmit.records.policy import LookRules, Policy
from readmit.records.reasons import DutyState, Reason, State
from readmit.records.retractions import Retraction, Retractions, RetractionView
from readmit.records.verdicts import Answer, Pair, Verdict
from readmit.workspace.agent import Agent
from readmit.workspace.diagnosis.checkup import Checkup
from readmit.workspace.diagnosis.symptoms import Diagnosis, Symptom, Trouble
from readmit.workspace.exposing import Bundle
from readmit.workspace.history import Explanation, Replay
from readmit.workspace.leasing import PresentAgent, Sweep, Sweeper, Unjudged
from readmit.workspace.missing import Lack
from readmit.workspace.observing import ObservationEntry, ObservationFields
from readmit.workspace.recording import ItemFields, UseFields
from readmit.workspace.retracting import RetractionBundle
from readmit.workspace.returns import Return
from readmit.workspace.subscribing import FallenItem, Subscription
from readmit.workspace.workspace import Workspace

if TYPE_CHECKING:
    from readmit.records.version import __version__ as __version__
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
            "readmit.records.version": ("__version__",),
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
