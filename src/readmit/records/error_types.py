"""The errors of readmit.

    ReadmitError
    ├── RecordError         a value is malformed: the message names the field
    │   └── ScenarioError   a scenario step is: the message gives its path
    ├── UnknownError        an id that nothing was recorded under
    ├── ConflictError       an id was used before for something else, or a link would form a cycle
    ├── CredentialError     no credential, or one that does not count: the server does not know who is calling
    ├── NotAllowedError     this principal may not do that
    ├── RateError           this principal ended, or opened for others, too much in too short a time
    ├── LeaseError          an agent's lease ran out, so it counts as departed; or this clock cannot judge leases
    ├── QuarantineError     a private bank, or a view, that is not open to this workload
    ├── LostStateError      a thread waits for work, and a return does not carry over the state that it needs
    ├── StaleAnswerError    an answer to a question that was asked before the agent's last departure
    ├── ExposureError       a view did not pass the recheck; carries the reason codes
    ├── SealError           a signature, envelope or key that cannot be trusted or used
    ├── AuditError          a head or a proof does not verify
    ├── WitnessError        a witness cannot be reached or started, or does not cosign
    ├── StoreError          the storage failed, is of another version, or is not ours
    │   └── TamperedError   the store does not hold what its signed head says, or is not the one that was pinned
    ├── ProbeError          a source cannot be captured: it is not there, not allowed, too large or too slow
    │   └── GoneError       it is not there
    ├── CheckLimitError     a check of memory files would take more time or memory than it may
    ├── SettingsError       a client's settings cannot be read or changed; nothing was
    ├── BackendError        a memory backend is missing, misconfigured, down or not as expected
    └── ModelError          a model cannot be used: its name, key, file, package or answers
        └── PendingAnswers  requests wait in a batch directory; run again when they are answered

A rejected item is not an error: rejection is data (``Disposition``). These are for misuse and for
failing storage. Every message says what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from readmit.records.reasons import Reason


class ReadmitError(Exception):
    """The root of everything readmit raises on purpose."""


class RecordError(ReadmitError, ValueError):
    """A value is malformed."""


class ScenarioError(RecordError):
    """A scenario cannot be played; nothing was written."""


class UnknownError(ReadmitError, LookupError):
    """Nothing is recorded under this id."""


class ConflictError(ReadmitError):
    """The id is taken by different content, or a link would form a cycle."""


class CredentialError(ReadmitError):
    """The request names no caller: its credential is missing, unknown, expired, revoked or for somebody else."""


class NotAllowedError(ReadmitError):
    """The policy does not let this principal do that."""


class RateError(NotAllowedError):
    """The principal reached a limit of the policy. What it wrote waits for an overseer, if the message says so."""


class LeaseError(ReadmitError):
    """An agent's lease ran out, and it counts as departed until it returns; or this clock cannot judge leases."""


class QuarantineError(ReadmitError):
    """Private memory was requested outside a readmitted workload."""


class LostStateError(ReadmitError):
    """A thread cannot go on: a return does not carry over the state that its waiting work needs."""


class StaleAnswerError(ReadmitError):
    """An answer may belong to a question from before the agent's last departure."""


class ExposureError(ReadmitError):
    """A view was refused at exposure. ``reasons`` says which checks failed."""

    def __init__(self, message: str, reasons: tuple[Reason, ...]) -> None:
        super().__init__(message)
        self.reasons = reasons


class SealError(ReadmitError):
    """A signature, an envelope or a key cannot be trusted or used."""


class AuditError(ReadmitError):
    """The audit chain does not verify."""


class WitnessError(ReadmitError):
    """A witness cannot be reached or started, or does not cosign."""


class StoreError(ReadmitError):
    """The storage failed, has another version, or is not a readmit store."""


class TamperedError(StoreError):
    """The store does not hold what its signed checkpoint says, or is not the store that was pinned."""


class ProbeError(ReadmitError):
    """A source cannot be captured. A later look that fails is not this: it is a result, ``unseen``."""


class GoneError(ProbeError):
    """The source is missing, or the captured text is missing from it."""


class SettingsError(ReadmitError):
    """A coding agent's settings cannot be read or changed. Nothing was changed."""


class CheckLimitError(ReadmitError):
    """A check of memory files, or a file that it reads, would take more time or memory than it may."""


class BackendError(ReadmitError):
    """A memory backend is missing, misconfigured, down, or does not behave as its adapter expects."""


class ModelError(ReadmitError):
    """A model cannot be opened or used. A bad answer is not this: it is a ``Failure``."""


class PendingAnswers(ModelError):  # noqa: N818  nothing went wrong: the run stops here and goes on later
    """``count`` requests wait for answers in a batch ``directory``; the same run continues once they are there."""

    def __init__(self, count: int, directory: str) -> None:
        super().__init__(
            f"{count} request{'s wait' if count != 1 else ' waits'} in {directory}/requests.jsonl: "
            f"put the answers into {directory}/responses*.jsonl and run the same command again"
        )
        self.count = count
        self.directory = directory
