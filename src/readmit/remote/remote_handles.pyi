# Written by `python -m tests.docs.remote_stub` from the table of verbs. Do not edit.

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, Self, TypeVar, Unpack

from readmit.diagnosis.checkup import Checkup
from readmit.diagnosis.history import Explanation, Replay
from readmit.diagnosis.symptoms import Diagnosis
from readmit.presence.lease import Sweep
from readmit.presence.subscription import FallenItem
from readmit.records.acts.event import Checkpoint
from readmit.records.base import Moment
from readmit.records.evidence import Experience
from readmit.records.identity import Identity
from readmit.records.items import Drafted
from readmit.records.policy import Policy
from readmit.records.verdicts import Pair, Verdict
from readmit.remote.remote_subscription import AsyncRemoteSubscription, RemoteSubscription
from readmit.remote.wire_values import (
    AgentEntry,
    EventEntry,
    HeadAnswer,
    ItemEntry,
    ItemHistory,
    KeyEntry,
    ReturnEntry,
    SearchAnswer,
)
from readmit.returning.expose import Bundle, RetractionBundle
from readmit.trust.proofs import EventProof
from readmit.workspace.return_handle import DecidedReturn
from readmit.writing.author import Author
from readmit.writing.forget import Forgotten
from readmit.writing.item_content import ItemFields, StatementKind
from readmit.writing.new_event import ObservationEntry, ObservationFields, Source
from readmit.writing.passed_plans import Notice

_T = TypeVar("_T")

class RemoteHandle:
    def __init__(self, connection: object, author: Author, place: Mapping[str, str]) -> None: ...

class BatchedResult(Generic[_T]):
    @property
    def value(self) -> _T: ...

class RemoteAdmin(RemoteHandle):
    def approve(self, waiting: str, *, by: str | None = None, reason: str = "") -> int: ...
    def decline(self, waiting: str, *, by: str | None = None, reason: str = "") -> int: ...
    def reassign(
        self,
        principal: str,
        *,
        task: str,
        role: str,
        was: str | None = None,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def void(self, event: int, *, by: str | None = None, reason: str = "", id: str | None = None) -> int: ...
    def govern(
        self, policy: Policy, *, by: str | None = None, id: str | None = None, at: Moment | None = None
    ) -> int: ...
    def forget(self, *targets: str, reason: str, by: str | None = None) -> Forgotten: ...
    def overrule(
        self,
        target: str,
        *,
        by: str | None = None,
        reason: str,
        expires: Moment | timedelta,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def sweep(self, *, trust_clock: bool = False) -> Sweep: ...
    def waiting(self) -> tuple[EventEntry, ...]: ...
    def notices(self, *, by: str | None = None) -> tuple[Notice, ...]: ...
    @property
    def policy(self) -> Policy: ...

class RemoteAgent(RemoteHandle):
    identity: Identity
    def delivery(self, return_id: str, *, secret: str) -> RemoteDelivery: ...
    def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        id: str | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> RemoteReturn: ...
    def present(
        self, *, lease: timedelta | float, epoch: int | None = None, token: int | None = None
    ) -> RemotePresentAgent: ...
    def settle(self, obligation: str, *, reason: str = "") -> int: ...
    def search(self, query: str | None = None, *, limit: int | None = None) -> SearchAnswer: ...
    def depart(self, *, id: str | None = None, epoch: int | None = None) -> Checkpoint: ...
    def recall(self) -> tuple[Experience, ...]: ...
    def departed(self, name: str | None = None) -> Checkpoint: ...
    def now(self) -> datetime: ...
    def remember(self, text: str, *, bound_to: str, id: str | None = None) -> str: ...
    def draft(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    def subscribe(self, *, report: Callable[[FallenItem], object] | None = None) -> RemoteSubscription: ...

class RemoteBatch(RemoteHandle):
    def observe(
        self,
        text: str | None = None,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
        source: Source | None = None,
        task: str | None = None,
        roles: Sequence[str] = (),
        principals: Sequence[str] = (),
    ) -> BatchedResult[str]: ...
    def observe_many(
        self, observations: Iterable[str | ObservationEntry], **shared: Unpack[ObservationFields]
    ) -> BatchedResult[list[str]]: ...
    def record(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        kind: StatementKind = "fact",
        supersedes: str | None = None,
        inherits: bool = False,
        expects: str | None = None,
        expects_nothing: bool = False,
        **fields: Unpack[ItemFields],
    ) -> BatchedResult[str]: ...
    def oblige(
        self,
        text: str,
        *,
        required: Sequence[str],
        critical: Sequence[str] = (),
        lists: Sequence[str] = (),
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> BatchedResult[str]: ...
    def progress(
        self,
        text: str,
        *,
        obligation: str,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> BatchedResult[str]: ...
    def supersede(
        self,
        target: str,
        successor: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def revoke(
        self, target: str, *, by: str | None = None, reason: str = "", id: str | None = None, at: Moment | None = None
    ) -> BatchedResult[int]: ...
    def close_validity(
        self,
        target: str,
        *,
        end: Moment,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def settle(
        self,
        obligation: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def dispute(
        self,
        items: Sequence[str],
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[str]: ...
    def resolve(
        self,
        dispute: str,
        *,
        keep: Sequence[str] = (),
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def judge(
        self,
        found: Verdict | Pair,
        *,
        signal: str = "unspecified",
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def link(
        self,
        item: str,
        need: str,
        *,
        by: str | None = None,
        withdrawn: bool = False,
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def confirm(
        self, item: str, *, by: str | None = None, id: str | None = None, at: Moment | None = None
    ) -> BatchedResult[int]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

class RemoteDelivery(RemoteHandle):
    def expose(self) -> Bundle: ...
    def expose_retractions(self) -> RetractionBundle: ...
    def acknowledge(self) -> None: ...

class RemoteListing(RemoteHandle):
    def agents(self) -> tuple[AgentEntry, ...]: ...
    def returns(self, *, after: int | str | None = None) -> Iterator[ReturnEntry]: ...
    def items(
        self,
        *,
        slot: str | None = None,
        task: str | None = None,
        text: str | None = None,
        after: int | str | None = None,
    ) -> Iterator[ItemEntry]: ...
    def item(self, id: str) -> ItemHistory: ...
    def log(self, *, after: int | str | None = None) -> Iterator[EventEntry]: ...
    def audit(self, *, after: int | str | None = None) -> Iterator[Any]: ...
    def proof(self, epoch: int) -> EventProof: ...
    def head(self) -> HeadAnswer: ...
    def keys(self) -> tuple[KeyEntry, ...]: ...

class RemotePastReturn(DecidedReturn):
    def explain(self, item: str) -> Explanation: ...
    def why(self) -> Diagnosis: ...
    def drafts(self) -> dict[str, Drafted]: ...
    def replay(self) -> Replay: ...

class RemotePresentAgent(RemoteHandle):
    @property
    def token(self) -> int: ...
    @property
    def until(self) -> datetime: ...
    def renew(self, *, epoch: int | None = None) -> datetime: ...

class RemoteReturn(RemoteHandle):
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> Literal["admitted", "blocked", "reset"]: ...
    @property
    def admitted(self) -> bool: ...
    @property
    def missing(self) -> tuple[str, ...]: ...
    @property
    def items(self) -> tuple[str, ...]: ...
    @property
    def partial(self) -> bool: ...
    @property
    def secret(self) -> str: ...
    def expose(self) -> Bundle: ...
    def expose_retractions(self) -> RetractionBundle: ...
    def acknowledge(self) -> None: ...
    def explain(self, item: str) -> Explanation: ...
    def why(self) -> Diagnosis: ...
    def drafts(self) -> dict[str, Drafted]: ...
    def replay(self) -> Replay: ...

class RemoteWorkspace(RemoteHandle):
    @property
    def name(self) -> str: ...
    @property
    def admin(self) -> RemoteAdmin: ...
    @property
    def listing(self) -> RemoteListing: ...
    def principal(self, name: str) -> Self: ...
    def agent(self, principal: str, *, role: str, task: str) -> RemoteAgent: ...
    def batch(self) -> RemoteBatch: ...
    def returned(self, return_id: str) -> RemotePastReturn: ...
    def doctor(self, agent: RemoteAgent | None = None) -> Checkup: ...
    def close(self) -> None: ...
    def observe(
        self,
        text: str | None = None,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
        source: Source | None = None,
        task: str | None = None,
        roles: Sequence[str] = (),
        principals: Sequence[str] = (),
    ) -> str: ...
    def observe_many(
        self, observations: Iterable[str | ObservationEntry], **shared: Unpack[ObservationFields]
    ) -> list[str]: ...
    def record(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        kind: StatementKind = "fact",
        supersedes: str | None = None,
        inherits: bool = False,
        expects: str | None = None,
        expects_nothing: bool = False,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    def oblige(
        self,
        text: str,
        *,
        required: Sequence[str],
        critical: Sequence[str] = (),
        lists: Sequence[str] = (),
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    def progress(
        self,
        text: str,
        *,
        obligation: str,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    def supersede(
        self,
        target: str,
        successor: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def revoke(
        self, target: str, *, by: str | None = None, reason: str = "", id: str | None = None, at: Moment | None = None
    ) -> int: ...
    def close_validity(
        self,
        target: str,
        *,
        end: Moment,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def settle(
        self,
        obligation: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def dispute(
        self,
        items: Sequence[str],
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> str: ...
    def resolve(
        self,
        dispute: str,
        *,
        keep: Sequence[str] = (),
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def judge(
        self,
        found: Verdict | Pair,
        *,
        signal: str = "unspecified",
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def link(
        self,
        item: str,
        need: str,
        *,
        by: str | None = None,
        withdrawn: bool = False,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    def confirm(self, item: str, *, by: str | None = None, id: str | None = None, at: Moment | None = None) -> int: ...
    @property
    def epoch(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

class AsyncRemoteAdmin(RemoteHandle):
    async def approve(self, waiting: str, *, by: str | None = None, reason: str = "") -> int: ...
    async def decline(self, waiting: str, *, by: str | None = None, reason: str = "") -> int: ...
    async def reassign(
        self,
        principal: str,
        *,
        task: str,
        role: str,
        was: str | None = None,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def void(self, event: int, *, by: str | None = None, reason: str = "", id: str | None = None) -> int: ...
    async def govern(
        self, policy: Policy, *, by: str | None = None, id: str | None = None, at: Moment | None = None
    ) -> int: ...
    async def forget(self, *targets: str, reason: str, by: str | None = None) -> Forgotten: ...
    async def overrule(
        self,
        target: str,
        *,
        by: str | None = None,
        reason: str,
        expires: Moment | timedelta,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def sweep(self, *, trust_clock: bool = False) -> Sweep: ...
    async def waiting(self) -> tuple[EventEntry, ...]: ...
    async def notices(self, *, by: str | None = None) -> tuple[Notice, ...]: ...
    async def policy(self) -> Policy: ...

class AsyncRemoteAgent(RemoteHandle):
    identity: Identity
    def delivery(self, return_id: str, *, secret: str) -> AsyncRemoteDelivery: ...
    async def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        id: str | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> AsyncRemoteReturn: ...
    async def present(
        self, *, lease: timedelta | float, epoch: int | None = None, token: int | None = None
    ) -> AsyncRemotePresentAgent: ...
    async def settle(self, obligation: str, *, reason: str = "") -> int: ...
    async def search(self, query: str | None = None, *, limit: int | None = None) -> SearchAnswer: ...
    async def depart(self, *, id: str | None = None, epoch: int | None = None) -> Checkpoint: ...
    async def recall(self) -> tuple[Experience, ...]: ...
    async def departed(self, name: str | None = None) -> Checkpoint: ...
    async def now(self) -> datetime: ...
    async def remember(self, text: str, *, bound_to: str, id: str | None = None) -> str: ...
    async def draft(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    def subscribe(self) -> AsyncRemoteSubscription: ...

class AsyncRemoteBatch(RemoteHandle):
    def observe(
        self,
        text: str | None = None,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
        source: Source | None = None,
        task: str | None = None,
        roles: Sequence[str] = (),
        principals: Sequence[str] = (),
    ) -> BatchedResult[str]: ...
    def observe_many(
        self, observations: Iterable[str | ObservationEntry], **shared: Unpack[ObservationFields]
    ) -> BatchedResult[list[str]]: ...
    def record(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        kind: StatementKind = "fact",
        supersedes: str | None = None,
        inherits: bool = False,
        expects: str | None = None,
        expects_nothing: bool = False,
        **fields: Unpack[ItemFields],
    ) -> BatchedResult[str]: ...
    def oblige(
        self,
        text: str,
        *,
        required: Sequence[str],
        critical: Sequence[str] = (),
        lists: Sequence[str] = (),
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> BatchedResult[str]: ...
    def progress(
        self,
        text: str,
        *,
        obligation: str,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> BatchedResult[str]: ...
    def supersede(
        self,
        target: str,
        successor: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def revoke(
        self, target: str, *, by: str | None = None, reason: str = "", id: str | None = None, at: Moment | None = None
    ) -> BatchedResult[int]: ...
    def close_validity(
        self,
        target: str,
        *,
        end: Moment,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def settle(
        self,
        obligation: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def dispute(
        self,
        items: Sequence[str],
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[str]: ...
    def resolve(
        self,
        dispute: str,
        *,
        keep: Sequence[str] = (),
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def judge(
        self,
        found: Verdict | Pair,
        *,
        signal: str = "unspecified",
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def link(
        self,
        item: str,
        need: str,
        *,
        by: str | None = None,
        withdrawn: bool = False,
        id: str | None = None,
        at: Moment | None = None,
    ) -> BatchedResult[int]: ...
    def confirm(
        self, item: str, *, by: str | None = None, id: str | None = None, at: Moment | None = None
    ) -> BatchedResult[int]: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...

class AsyncRemoteDelivery(RemoteHandle):
    async def expose(self) -> Bundle: ...
    async def expose_retractions(self) -> RetractionBundle: ...
    async def acknowledge(self) -> None: ...

class AsyncRemoteListing(RemoteHandle):
    async def agents(self) -> tuple[AgentEntry, ...]: ...
    def returns(self, *, after: int | str | None = None) -> AsyncIterator[ReturnEntry]: ...
    def items(
        self,
        *,
        slot: str | None = None,
        task: str | None = None,
        text: str | None = None,
        after: int | str | None = None,
    ) -> AsyncIterator[ItemEntry]: ...
    async def item(self, id: str) -> ItemHistory: ...
    def log(self, *, after: int | str | None = None) -> AsyncIterator[EventEntry]: ...
    def audit(self, *, after: int | str | None = None) -> AsyncIterator[Any]: ...
    async def proof(self, epoch: int) -> EventProof: ...
    async def head(self) -> HeadAnswer: ...
    async def keys(self) -> tuple[KeyEntry, ...]: ...

class AsyncRemotePastReturn(DecidedReturn):
    async def explain(self, item: str) -> Explanation: ...
    async def why(self) -> Diagnosis: ...
    async def drafts(self) -> dict[str, Drafted]: ...
    async def replay(self) -> Replay: ...

class AsyncRemotePresentAgent(RemoteHandle):
    @property
    def token(self) -> int: ...
    @property
    def until(self) -> datetime: ...
    async def renew(self, *, epoch: int | None = None) -> datetime: ...

class AsyncRemoteReturn(RemoteHandle):
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> Literal["admitted", "blocked", "reset"]: ...
    @property
    def admitted(self) -> bool: ...
    @property
    def missing(self) -> tuple[str, ...]: ...
    @property
    def items(self) -> tuple[str, ...]: ...
    @property
    def partial(self) -> bool: ...
    @property
    def secret(self) -> str: ...
    async def expose(self) -> Bundle: ...
    async def expose_retractions(self) -> RetractionBundle: ...
    async def acknowledge(self) -> None: ...
    async def explain(self, item: str) -> Explanation: ...
    async def why(self) -> Diagnosis: ...
    async def drafts(self) -> dict[str, Drafted]: ...
    async def replay(self) -> Replay: ...

class AsyncRemoteWorkspace(RemoteHandle):
    @property
    def name(self) -> str: ...
    @property
    def admin(self) -> AsyncRemoteAdmin: ...
    @property
    def listing(self) -> AsyncRemoteListing: ...
    def principal(self, name: str) -> Self: ...
    def agent(self, principal: str, *, role: str, task: str) -> AsyncRemoteAgent: ...
    def batch(self) -> AsyncRemoteBatch: ...
    async def returned(self, return_id: str) -> AsyncRemotePastReturn: ...
    async def doctor(self, agent: AsyncRemoteAgent | None = None) -> Checkup: ...
    async def close(self) -> None: ...
    async def observe(
        self,
        text: str | None = None,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
        source: Source | None = None,
        task: str | None = None,
        roles: Sequence[str] = (),
        principals: Sequence[str] = (),
    ) -> str: ...
    async def observe_many(
        self, observations: Iterable[str | ObservationEntry], **shared: Unpack[ObservationFields]
    ) -> list[str]: ...
    async def record(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        kind: StatementKind = "fact",
        supersedes: str | None = None,
        inherits: bool = False,
        expects: str | None = None,
        expects_nothing: bool = False,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    async def oblige(
        self,
        text: str,
        *,
        required: Sequence[str],
        critical: Sequence[str] = (),
        lists: Sequence[str] = (),
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    async def progress(
        self,
        text: str,
        *,
        obligation: str,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str: ...
    async def supersede(
        self,
        target: str,
        successor: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def revoke(
        self, target: str, *, by: str | None = None, reason: str = "", id: str | None = None, at: Moment | None = None
    ) -> int: ...
    async def close_validity(
        self,
        target: str,
        *,
        end: Moment,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def settle(
        self,
        obligation: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def dispute(
        self,
        items: Sequence[str],
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> str: ...
    async def resolve(
        self,
        dispute: str,
        *,
        keep: Sequence[str] = (),
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def judge(
        self,
        found: Verdict | Pair,
        *,
        signal: str = "unspecified",
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def link(
        self,
        item: str,
        need: str,
        *,
        by: str | None = None,
        withdrawn: bool = False,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
    async def confirm(
        self, item: str, *, by: str | None = None, id: str | None = None, at: Moment | None = None
    ) -> int: ...
    async def epoch(self) -> int: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
