"""The events of a delivery: a view is handed over, and has arrived."""

from __future__ import annotations

from readmit.records.base import Id, Record


class Exposed(Record, kw_only=True):
    """A view was handed over, or refused."""

    return_id: Id
    instance: Id
    agent: str
    """The key of the agent that asked for it."""
    refused: tuple[str, ...] = ()
    again: bool = False
    """The same workload was handed the same view before."""


class Acknowledge(Record, kw_only=True):
    """The workload that a view was handed to has received it. From here on it is not handed over again."""

    return_id: Id
    instance: Id
