"""Everything readmit raises. ``ReadmitError`` is the root; every message names the field and the fix."""

from __future__ import annotations

from readmit.records.errors import (
    AuditError,
    BackendError,
    ConflictError,
    ExposureError,
    GoneError,
    LeaseError,
    ModelError,
    NotAllowedError,
    PendingAnswers,
    ProbeError,
    QuarantineError,
    RateError,
    ReadmitError,
    RecordError,
    ScenarioError,
    SealError,
    StoreError,
    TamperedError,
    UnknownError,
    WitnessError,
)

__all__ = [
    "AuditError",
    "BackendError",
    "ConflictError",
    "ExposureError",
    "GoneError",
    "LeaseError",
    "ModelError",
    "NotAllowedError",
    "PendingAnswers",
    "ProbeError",
    "QuarantineError",
    "RateError",
    "ReadmitError",
    "RecordError",
    "ScenarioError",
    "SealError",
    "StoreError",
    "TamperedError",
    "UnknownError",
    "WitnessError",
]
