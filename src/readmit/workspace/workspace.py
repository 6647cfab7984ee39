"""``Workspace.open(...)``: one team's shared state, and the verbs that change it."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Self

from readmit.records.base import listed, require_name, utc
from readmit.records.canonical import convert, digest
from readmit.records.errors import QuarantineError, RecordError
from readmit.records.events import (
    Close,
    Dispute,
    Draft,
    EventKind,
    Overrule,
    Rebase,
    Resolve,
    Revoke,
    Settle,
    Supersede,
    Suspect,
    draft,
    targets_of,
)
from readmit.records.identity import Identity
from readmit.records.items import Interval, Receipt, Scope
from readmit.records.policy import OWNER, Policy
from readmit.records.verdicts import Pair, Verdict
from readmit.store.places import MEMORY, open_store
from readmit.workspace import history
from readmit.workspace.agent import Agent
from readmit.workspace.exposing import Asker, expose
from readmit.workspace.keeping import Keys
from readmit.workspace.observing import Observer, drafts
from readmit.workspace.writing import check, disputed, policy_in_force

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from readmit.ports.signer import Signer
    from readmit.ports.store import Log
    from readmit.records.decisions import Decision, Disposition
    from readmit.workspace.exposing import Bundle
    from readmit.workspace.history import Explanation, Replay

DEFAULT_NAME = "default"


class Workspace:
    """A team's log in a file or a database. Every verb is one durable event; ``batch`` makes several into one commit.

    Every event takes an ``id``: writing the same content under the same id again changes nothing. Without one,
    items and evidence are named by their content, other events at random.
    """

    def __init__(self, log: Log, keys: Keys, clock: Callable[[], datetime]) -> None:
        self.log = log
        self.keys = keys
        self._clock = clock
        self._observer = Observer(log.workspace)

    @classmethod
    def open(
        cls,
        path: str | Path = MEMORY,
        *,
        name: str = DEFAULT_NAME,
        policy: Policy | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        keys: str | Path | None = None,
    ) -> Self:
        """Open a workspace in a file, or behind a ``postgresql://`` URL, or start one.

        Its signing keys live beside the file, in ``<file>.keys``; those of a server in the folder that ``keys`` or
        ``READMIT_KEYS`` names, or in the user's data folder.
        """
        log, beside = open_store(path, require_name("name", name), keys)
        try:
            workspace = cls(log, Keys(log, beside), clock)
            workspace.keys.ensure(workspace.now())
            if policy is not None and policy != workspace.policy:
                workspace.govern(policy, by=OWNER)
        except BaseException:
            log.close()
            raise
        return workspace

    def close(self) -> None:
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        return self.log.workspace

    @property
    def epoch(self) -> int:
        """The position of the last committed event."""
        return self.log.head

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return policy_in_force(self.log)

    def now(self) -> datetime:
        return utc(self._clock(), field="clock")

    def signer(self) -> Signer:
        return self.keys.signer()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several events, one durable commit: all of them or none."""
        with self.log.atomic():
            yield

    def agent(self, principal: str, *, role: str, task: str) -> Agent:
        """A handle for one principal in one role on one task."""
        identity = {"workspace": self.name, "principal": principal, "role": role, "task": task}
        return Agent(self, convert(identity, Identity, what="agent"))

    # What the team observes and holds.

    def observe(
        self,
        text: str,
        *,
        by: str,
        id: str | None = None,
        at: datetime | None = None,
        source: Literal["message", "tool_result", "document"] = "message",
        task: str | None = None,
        roles: Sequence[str] = (),
        principals: Sequence[str] = (),
    ) -> str:
        """Keep a raw observation and return its digest, to be named as a source."""
        now = self.now()
        entry = self._observer.draft(
            text, utc(at or now, field="at"), by=by, id=id, source=source, task=task,
            roles=listed("roles", roles), principals=listed("principals", principals),
        )  # fmt: skip
        self._commit([entry], now)
        return entry.digest

    def observe_many(self, observations: Iterable[str | Mapping[str, Any]], **shared: Any) -> list[str]:
        """Keep many raw observations in one commit, all or none, and return their digests.

        Each is a text, or a mapping with the arguments of ``observe``; ``shared`` holds for those that do not say
        otherwise.
        """
        now = self.now()
        entries = list(drafts(self.name, observations, shared, now=now))
        self._commit(entries, now)
        return [entry.digest for entry in entries]

    def record(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        kind: Literal["fact", "role_constraint", "interface_constraint"] = "fact",
        supersedes: str | None = None,
        **fields: Any,
    ) -> str:
        """Record a statement and return its id.

        ``sources`` are digests of evidence that the statement and all its references rest on. Further fields:
        ``slot``, ``supports``, ``depends_on``, ``purposes``, ``tasks``, ``valid_from``, ``valid_until``,
        ``receipts``, and the scope as ``task``, ``roles``, ``principals``, ``private``.
        """
        with self.batch():
            name = self._item(
                EventKind.RECORD, {"kind": kind, "text": text}, sources=sources, by=by, name=id, fields=fields
            )
            if supersedes is not None:
                author = self.log.item(name).by
                self.supersede(supersedes, name, by=author, id=digest((supersedes, name))[:32])
        return name

    def oblige(
        self,
        text: str,
        *,
        required: Sequence[str],
        critical: Sequence[str] = (),
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Any,
    ) -> str:
        """Open an obligation: what the role must be able to do, and the dependencies that takes."""
        content = {
            "kind": "obligation",
            "text": text,
            "required": listed("required", required),
            "critical": listed("critical", critical),
        }
        return self._item(EventKind.OPEN, content, sources=sources, by=by, name=id, fields=fields)

    def progress(
        self,
        text: str,
        *,
        obligation: str,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Any,
    ) -> str:
        """Move an obligation's frontier: what is unresolved about it now."""
        content = {"kind": "frontier", "text": text, "obligation": obligation}
        return self._item(EventKind.MOVE, content, sources=sources, by=by, name=id, fields=fields)

    def _item(
        self,
        event: EventKind,
        content: dict[str, Any],
        *,
        sources: Sequence[str],
        by: str | None,
        name: str | None,
        fields: dict[str, Any],
    ) -> str:
        author = by or (self.log.evidence(sources[0]).by if sources else None)
        if author is None:
            raise RecordError("by: say who records this, or name a source whose observer does")
        supports = listed("supports", fields.pop("supports", ()))
        premises = listed("depends_on", fields.pop("depends_on", ()))
        receipts = tuple(fields.pop("receipts", ())) + tuple(
            Receipt(evidence=one, binds=("item", *premises, *supports)) for one in listed("sources", sources)
        )
        scope = self._scope(
            fields.pop("task", None),
            fields.pop("roles", ()),
            fields.pop("principals", ()),
            private=fields.pop("private", False),
        )
        start, end = fields.pop("valid_from", None), fields.pop("valid_until", None)
        valid = Interval(
            start=None if start is None else utc(start, field="valid_from"),
            end=None if end is None else utc(end, field="valid_until"),
        )
        fields |= {name: listed(name, fields[name]) for name in ("purposes", "tasks") if name in fields}
        content |= {
            "by": author, "scope": scope, "valid": valid, "depends_on": premises, "supports": supports,
            "receipts": receipts, **fields,
        }  # fmt: skip
        item_id = name or f"m{digest(content)[:16]}"
        self.append(event, {"id": item_id, **content}, by=author, id=item_id)
        return item_id

    # What happens to it.

    def supersede(self, target: str, successor: str, *, by: str, reason: str = "", **event: Any) -> int:
        """``successor`` replaces ``target``."""
        payload = Supersede(target=target, successor=successor, reason=reason)
        return self.append(EventKind.SUPERSEDE, payload, by=by, **event)

    def revoke(self, target: str, *, by: str, reason: str = "", **event: Any) -> int:
        """Withdraw an item: it should not have been relied on."""
        return self.append(EventKind.REVOKE, Revoke(target=target, reason=reason), by=by, **event)

    def close_validity(self, target: str, *, end: datetime, by: str, reason: str = "", **event: Any) -> int:
        """The item is true only until ``end``."""
        payload = Close(target=target, end=utc(end, field="end"), reason=reason)
        return self.append(EventKind.CLOSE, payload, by=by, **event)

    def rebase(self, slot: str, *, task: str, by: str, reason: str = "", **event: Any) -> int:
        """A slot, and those below it, start anew: what was recorded about them before no longer applies."""
        return self.append(EventKind.REBASE, Rebase(slot=slot, task=task, reason=reason), by=by, **event)

    def settle(self, obligation: str, *, by: str, reason: str = "", **event: Any) -> int:
        """The obligation is done, or no longer owed."""
        return self.append(EventKind.SETTLE, Settle(target=obligation, reason=reason), by=by, **event)

    def dispute(self, items: Sequence[str], *, by: str, reason: str = "", id: str | None = None, **event: Any) -> str:
        """Contest items: none of them may be acted on until this is resolved. Returns the dispute's id."""
        name = id or secrets.token_hex(8)
        payload = Dispute(items=tuple(dict.fromkeys(items)), reason=reason)
        self.append(EventKind.DISPUTE, payload, by=by, id=name, **event)
        return name

    def resolve(self, dispute: str, *, keep: Sequence[str] = (), by: str, reason: str = "", **event: Any) -> int:
        """End a dispute: items in ``keep`` stand, the others were wrong."""
        payload = Resolve(dispute=dispute, keep=tuple(keep), reason=reason)
        return self.append(EventKind.RESOLVE, payload, by=by, **event)

    def suspect(self, item: str, evidence: str, *, by: str, signal: str = "unspecified", **event: Any) -> int:
        """Propose that an observation changes a premise of an item. Out until a verdict settles it."""
        payload = Suspect(pair=Pair(item=item, evidence=evidence), signal=signal)
        return self.append(EventKind.SUSPECT, payload, by=by, **event)

    def judge(self, verdict: Verdict, *, by: str, **event: Any) -> int:
        """Store a verdict on a pair. It can only take the item out."""
        return self.append(EventKind.JUDGE, verdict, by=by, **event)

    def overrule(
        self,
        target: str,
        *,
        grant: Literal["restore", "rejustify", "settle"],
        by: str,
        reason: str,
        expires: datetime | timedelta,
        **event: Any,
    ) -> int:
        """Set automated rejections of an item aside, for a while and for a reason. Overseers only."""
        end = self.now() + expires if isinstance(expires, timedelta) else utc(expires, field="expires")
        payload = Overrule(target=target, grant=grant, reason=reason, expires=end)
        return self.append(EventKind.OVERRULE, payload, by=by, **event)

    def govern(self, policy: Policy, *, by: str, **event: Any) -> int:
        """Put a policy in force from here on."""
        return self.append(EventKind.GOVERN, policy, by=by, **event)

    # What is handed over.

    def expose(self, return_id: str, *, identity: Identity, instance: str, within_batch: bool = False) -> Bundle:
        """Check a view again at this moment and hand it over, once, to the workload it was issued to."""
        if self.log.pending and not within_batch:
            raise QuarantineError("nothing is handed over before it is committed: expose after the batch")

        def ask() -> Asker:
            return Asker(identity, instance, self.policy, self.now(), self.keys.handed_over.read())

        bundle = expose(self.log, return_id, ask, self.signer)
        self.keys.handed_over.raise_to(self.log.head)
        return bundle

    # Looking back.

    def explain(self, return_id: str, item: str) -> Explanation:
        """Why an item was in or out of a past return."""
        return history.explain(self.log, return_id, item)

    def replay(self, return_id: str) -> Replay:
        """Recompute a past decision from the log and compare bytes."""
        return history.replay(self.log, return_id)

    def decision(self, return_id: str) -> Decision:
        """A past decision."""
        return history.recorded(self.log, return_id)[1]

    def dispositions(self, return_id: str) -> tuple[Disposition, ...]:
        """What became of every candidate of a past return."""
        return tuple(history.dispositions(self.log, return_id))

    # The one way in.

    def append(
        self, kind: EventKind, payload: object, *, by: str, id: str | None = None, at: datetime | None = None
    ) -> int:
        """Check an event and commit it. Returns its epoch."""
        now = self.now()
        # A resolution touches what its dispute does.
        about = targets_of(disputed(self.log, payload.dispute)) if isinstance(payload, Resolve) else None
        name = secrets.token_hex(8) if id is None else id
        (epoch,) = self._commit([draft(kind, payload, id=name, by=by, at=at or now, about=about)], now)
        return epoch

    def _commit(self, entries: Sequence[Draft], now: datetime) -> list[int]:
        return self.log.append(entries, now=now, check=lambda new: check(self.log, new, lambda: self.policy, now))

    def _scope(self, task: str | None, roles: Sequence[str], principals: Sequence[str], *, private: bool) -> Scope:
        return Scope(
            workspace=self.name,
            task=task,
            roles=listed("roles", roles),
            principals=listed("principals", principals),
            visibility="private" if private else "team",
        )
