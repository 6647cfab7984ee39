"""Implicit invalidation with models: worked out before a decision, written to the log, read by the return.

Paper, "From a possible dependency to a confirmed invalidation". ``Inference`` is the user's handle.
"""

from __future__ import annotations

from readmit.inference.inference import Inference
from readmit.inference.prepared import Prepared
from readmit.inference.resolving import Resolution
from readmit.inference.settings import InferenceModels, Settings, settings_from
from readmit.inference.watching import Announcement, Watch

__all__ = [
    "Announcement",
    "Inference",
    "InferenceModels",
    "Prepared",
    "Resolution",
    "Settings",
    "Watch",
    "settings_from",
]
