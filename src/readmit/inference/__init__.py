"""Implicit invalidation with models: judged before a decision, written to the log, read by the return.

Paper, "From a possible dependency to a confirmed invalidation". ``Inference`` is the user's handle.
"""

from __future__ import annotations

from readmit.inference.disputes import Asked, Resolution
from readmit.inference.duty_plan import Planned
from readmit.inference.inference import Inference
from readmit.inference.ingestion import Ingested
from readmit.inference.prepared import Prepared
from readmit.inference.settings import InferenceModels, RequestBudgets, Settings, settings_from
from readmit.inference.watch import Announcement, Look, Watch
from readmit.models.stages.extract import Turn
from readmit.rules.invalidate.propose import Signal

__all__ = [
    "Announcement",
    "Asked",
    "Inference",
    "InferenceModels",
    "Ingested",
    "Look",
    "Planned",
    "Prepared",
    "RequestBudgets",
    "Resolution",
    "Settings",
    "Signal",
    "Turn",
    "Watch",
    "settings_from",
]
