"""What may a returning agent still act on?

``Workspace`` is the way in. Values that a program only receives are in ``readmit.types``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.presence.subscription import Subscription
from readmit.records.error_types import ReadmitError
from readmit.records.identity import Identity
from readmit.records.lazy import lazily
from readmit.records.policy import LookRules, Policy
from readmit.records.reasons import DutyState, Reason, State
from readmit.records.verdicts import Answer, Pair, Verdict
from readmit.returning.expose import Bundle
from readmit.workspace.agent import Agent, PresentAgent
from readmit.workspace.return_handle import Delivery, Return
from readmit.workspace.workspace import Workspace

if TYPE_CHECKING:
    from readmit.version import __version__ as __version__
    from readmit.workspace.async_workspace import AsyncAgent, AsyncReturn, AsyncWorkspace
else:
    # asyncio alone takes half as long to import as all of this.
    __getattr__ = lazily(
        __name__,
        {
            "readmit.workspace.async_workspace": ("AsyncAgent", "AsyncReturn", "AsyncWorkspace"),
            "readmit.version": ("__version__",),
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
