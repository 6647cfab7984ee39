"""Workspaces on a server: ``connect`` opens one, with the verbs of ``Workspace``; and the table of these verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily
from readmit.remote.verb_table import Verb, verbs

if TYPE_CHECKING:
    from readmit.remote.connected import RemoteOpening, connect, connect_async
    from readmit.remote.remote_handles import (
        AsyncRemoteAdmin,
        AsyncRemoteAgent,
        AsyncRemoteBatch,
        AsyncRemoteDelivery,
        AsyncRemoteListing,
        AsyncRemotePastReturn,
        AsyncRemotePresentAgent,
        AsyncRemoteReturn,
        AsyncRemoteWorkspace,
        BatchedResult,
        RemoteAdmin,
        RemoteAgent,
        RemoteBatch,
        RemoteDelivery,
        RemoteListing,
        RemotePastReturn,
        RemotePresentAgent,
        RemoteReturn,
        RemoteWorkspace,
    )
    from readmit.remote.remote_subscription import AsyncRemoteSubscription, RemoteSubscription
else:
    # The server needs the table alone, and no HTTP client.
    __getattr__ = lazily(
        __name__,
        {
            "readmit.remote.connected": ("RemoteOpening", "connect", "connect_async"),
            "readmit.remote.remote_handles": (
                "AsyncRemoteAdmin",
                "AsyncRemoteAgent",
                "AsyncRemoteBatch",
                "AsyncRemoteDelivery",
                "AsyncRemoteListing",
                "AsyncRemotePastReturn",
                "AsyncRemotePresentAgent",
                "AsyncRemoteReturn",
                "AsyncRemoteWorkspace",
                "BatchedResult",
                "RemoteAdmin",
                "RemoteAgent",
                "RemoteBatch",
                "RemoteDelivery",
                "RemoteListing",
                "RemotePastReturn",
                "RemotePresentAgent",
                "RemoteReturn",
                "RemoteWorkspace",
            ),
            "readmit.remote.remote_subscription": ("AsyncRemoteSubscription", "RemoteSubscription"),
        },
    )

__all__ = [
    "AsyncRemoteAdmin",
    "AsyncRemoteAgent",
    "AsyncRemoteBatch",
    "AsyncRemoteDelivery",
    "AsyncRemoteListing",
    "AsyncRemotePastReturn",
    "AsyncRemotePresentAgent",
    "AsyncRemoteReturn",
    "AsyncRemoteSubscription",
    "AsyncRemoteWorkspace",
    "BatchedResult",
    "RemoteAdmin",
    "RemoteAgent",
    "RemoteBatch",
    "RemoteDelivery",
    "RemoteListing",
    "RemoteOpening",
    "RemotePastReturn",
    "RemotePresentAgent",
    "RemoteReturn",
    "RemoteSubscription",
    "RemoteWorkspace",
    "Verb",
    "connect",
    "connect_async",
    "verbs",
]
