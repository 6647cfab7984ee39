"""What may a returning agent still act on?

``Workspace`` is the way in. Values that a program only receives are in ``readmit.types``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.presence.subscription import Subscription
    from readmit.records.error_types import ReadmitError
    from readmit.records.identity import Identity
    from readmit.records.policy import LookRules, Policy
    from readmit.records.reasons import DutyState, Reason, State
    from readmit.records.verdicts import Answer, Pair, Verdict
    from readmit.returning.expose import Bundle
    from readmit.version import __version__ as __version__
    from readmit.workspace.agent import Agent, PresentAgent
    from readmit.workspace.async_workspace import AsyncAgent, AsyncReturn, AsyncWorkspace
    from readmit.workspace.return_handle import Delivery, Return
    from readmit.workspace.workspace import Workspace
else:
    # A hook of a coding agent imports this package at every prompt, and needs none of these.
    __getattr__ = lazily(
        __name__,
        {
            "readmit.presence.subscription": ("Subscription",),
            "readmit.records.error_types": ("ReadmitError",),
            "readmit.records.identity": ("Identity",),
            "readmit.records.policy": ("LookRules", "Policy"),
            "readmit.records.reasons": ("DutyState", "Reason", "State"),
            "readmit.records.verdicts": ("Answer", "Pair", "Verdict"),
            "readmit.returning.expose": ("Bundle",),
            "readmit.version": ("__version__",),
            "readmit.workspace.agent": ("Agent", "PresentAgent"),
            "readmit.workspace.async_workspace": ("AsyncAgent", "AsyncReturn", "AsyncWorkspace"),
            "readmit.workspace.return_handle": ("Delivery", "Return"),
            "readmit.workspace.workspace": ("Workspace",),
        },
    )

__all__ = [
    "Agent",
    "Answer",
    "AsyncAgent",
    "AsyncReturn",
    "AsyncWorkspace",
    "Bundle",
    "Delivery",
    "DutyState",
    "Identity",
    "LookRules",
    "Pair",
    "Policy",
    "PresentAgent",
    "ReadmitError",
    "Reason",
    "Return",
    "State",
    "Subscription",
    "Verdict",
    "Workspace",
]
