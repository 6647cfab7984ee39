# Written by `python -m tests.docs.async_stub` from the blocking handles. Do not edit.

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from readmit.diagnosis.checkup import Checkup
from readmit.diagnosis.history import Explanation, Replay
from readmit.diagnosis.symptoms import Diagnosis
from readmit.presence.lease import Sweep
from readmit.presence.subscription import FallenItem
from readmit.records.acts.event import (
    Checkpoint,
    Event,
)
from readmit.records.acts.kinds import DeclaredKind
from readmit.records.acts.looks import Looked
from readmit.records.base import (
    Moment,
)
from readmit.records.evidence import Experience
from readmit.records.identity import Identity
from readmit.records.items import Drafted
from readmit.records.policy import LookRules, Policy
from readmit.records.verdicts import Pair, Verdict
from readmit.returning.expose import Bundle, RetractionBundle
from readmit.sources import Looker
from readmit.sources.places import Place
from readmit.trust.signer import Signer
from readmit.workspace.admin import Admin
from readmit.workspace.agent import Agent, PresentAgent
from readmit.workspace.return_handle import DecidedReturn, Delivery, Return
from readmit.workspace.workspace import Workspace
from readmit.writing.forget import Forgotten
from readmit.writing.item_content import ItemFields, StatementKind
from readmit.writing.new_event import ObservationEntry, ObservationFields, Source
from readmit.writing.passed_plans import Notice

_Twin = TypeVar("_Twin")
_T = TypeVar("_T")
_P = ParamSpec("_P")

class OnThread(Generic[_Twin]):
    async def run(self, call: Callable[Concatenate[_Twin, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T: ...

class Opening:
    def __await__(self) -> Generator[Any, None, AsyncWorkspace]: ...
    async def __aenter__(self) -> AsyncWorkspace: ...
    async def __aexit__(self, *_: object) -> None: ...

class AsyncSubscription:
    def __aiter__(self) -> AsyncIterator[FallenItem]: ...
    async def wait(self) -> tuple[FallenItem, ...]: ...
    def close(self) -> None: ...

class AsyncWorkspace(OnThread[Workspace]):
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    def batch(self) -> AbstractAsyncContextManager[None]: ...
    @staticmethod
    def open(
        path: str | Path = ...,
        *,
        name: str = ...,
        policy: Policy | None = None,
        clock: Callable[[], datetime] = ...,
        keys: str | Path | None = None,
        prober: Callable[[LookRules], Looker] | None = None,
    ) -> Opening: ...
    @property
    def name(self) -> str: ...
    async def epoch(self) -> int: ...
    @property
    def admin(self) -> AsyncAdmin: ...
    def principal(self, name: str, *, signer: Signer | str | Path | None = None) -> Self: ...
    def as_owner(self, *, signer: Signer | str | Path | None = None) -> Self: ...
    def agent(self, principal: str, *, role: str, task: str) -> AsyncAgent: ...
    async def returned(self, return_id: str) -> AsyncReturn: ...
    async def doctor(self, agent: AsyncAgent | None = None) -> Checkup: ...
    async def observe(
        self,
        text: str | None = None,
        *,
        probe: Place | None = None,
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

class AsyncAgent(OnThread[Agent]):
    @property
    def identity(self) -> Identity: ...
    def subscribe(self, *, every: float = ...) -> AsyncSubscription: ...
    async def present(
        self, *, lease: timedelta | int, epoch: int | None = None, token: int | None = None
    ) -> AsyncPresentAgent: ...
    async def depart(self, *, id: str | None = None, epoch: int | None = None) -> Checkpoint: ...
    async def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        id: str | None = None,
        prepare: Callable[[Checkpoint, str], object] | None = None,
    ) -> AsyncReturn: ...
    def delivery(self, return_id: str, *, secret: str) -> AsyncDelivery: ...
    async def look(self, *, purpose: str | None = None) -> Looked | None: ...
    async def remember(self, text: str, *, bound_to: str, id: str | None = None) -> str: ...
    async def recall(self) -> tuple[Experience, ...]: ...
    async def now(self) -> datetime: ...
    async def settle(self, obligation: str, *, reason: str = "") -> int: ...
    async def departed(self, name: str | None = None) -> Checkpoint: ...

class AsyncReturn(DecidedReturn, OnThread[Return]):
    async def expose(self, *, within_batch: bool = False) -> Bundle: ...
    async def expose_retractions(self, *, within_batch: bool = False) -> RetractionBundle: ...
    async def acknowledge(self) -> None: ...
    async def explain(self, item: str) -> Explanation: ...
    async def why(self) -> Diagnosis: ...
    async def drafts(self) -> dict[str, Drafted]: ...
    async def replay(self) -> Replay: ...

class AsyncDelivery(OnThread[Delivery]):
    async def expose(self, *, within_batch: bool = False) -> Bundle: ...
    async def expose_retractions(self, *, within_batch: bool = False) -> RetractionBundle: ...
    async def acknowledge(self) -> None: ...

class AsyncPresentAgent(OnThread[PresentAgent]):
    @property
    def workspace(self) -> AsyncWorkspace: ...
    @property
    def token(self) -> int: ...
    async def until(self) -> datetime: ...
    async def renew(self, *, epoch: int | None = None) -> datetime: ...

class AsyncAdmin(OnThread[Admin]):
    async def policy(self) -> Policy: ...
    async def backup(self, path: str | Path) -> int: ...
    async def sweep(self, *, trust_clock: bool = False) -> Sweep: ...
    async def waiting(self) -> tuple[Event, ...]: ...
    async def notices(self, *, by: str | None = None) -> tuple[Notice, ...]: ...
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
    async def write(
        self,
        kind: DeclaredKind,
        payload: object,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int: ...
