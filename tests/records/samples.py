"""Valid records of every kind, with every optional field used at least once: what fuzzing starts from."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from readmit import Answer, DutyState, Identity, Pair, Reason, State, Verdict
from readmit.events import EventKind
from readmit.lab import Link, Suspect
from readmit.policies import LookRules, Policy
from readmit.records.acts.event import Close, Confirm, Dispute, KeyChange, Overrule, Resolve, Revoke, Settle, Supersede
from readmit.records.acts.forgotten import Forget
from readmit.records.acts.looks import LookResult, Resource
from readmit.records.acts.operation import (
    Acknowledge,
    Approve,
    Decline,
    Exposed,
    HeldBack,
    Lease,
    Reassign,
    Void,
    Wait,
    WriterKey,
)
from readmit.records.decisions import Examination, ExperienceNote, Request, Returned, Selection, ViewExperience
from readmit.records.items import Kind
from readmit.records.verdicts import Examine
from readmit.sources import FileProbe, Finding, GitProbe
from readmit.types import (
    Cause,
    Checkpoint,
    CoverageReport,
    Decision,
    Disposition,
    DutyNote,
    Envelope,
    Evidence,
    Experience,
    Fact,
    Frontier,
    InterfaceConstraint,
    Interval,
    Looked,
    Obligation,
    Receipt,
    ReturnView,
    RoleConstraint,
    Scope,
    Signature,
    ViewItem,
)

if TYPE_CHECKING:
    from readmit.events import DeclaredKind

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 9, 30, 0, 5, tzinfo=UTC)
HASH = "0123456789abcdef" * 4
SCOPE = Scope(workspace="w", principals=("ann",), roles=("planner", "booker"), task="trip", visibility="private")
IDENTITY = Identity(workspace="w", principal="ann", role="planner", task="trip")
PAIR = Pair(item="h0", evidence=HASH)
_SHARED: dict[str, Any] = {
    "text": "Sunrise is booked ☀",
    "by": "bob",
    "scope": SCOPE,
    "slot": "hotel.booking",
    "purposes": ("book",),
    "applies_to": ("trip",),
    "valid": Interval(start=NOW, end=LATER),
    "depends_on": ("p",),
    "receipts": (Receipt(evidence=HASH, binds=("item", "p")), Receipt(evidence=HASH)),
}
ITEMS = (
    Fact(id="h0", supports=("d_h",), **_SHARED),
    RoleConstraint(id="c", **_SHARED),
    InterfaceConstraint(id="i", **_SHARED),
    Obligation(id="o", required=("d_h", "d_t"), critical=("d_h",), **_SHARED),
    Frontier(id="f", obligation="o", **_SHARED),
    Fact(id="bare", text="t", by="b", scope=Scope(workspace="w")),
)
REPORT = CoverageReport(obligations=2, covered=1, critical=4, critical_covered=3, missing=("d_p",), uncovered=("o",))
LOOKED = Examination(verifier="nli", until=4, unexamined=1)
REQUEST = Request(
    return_id="r",
    identity=IDENTITY,
    instance="i",
    nonce="n",
    purpose="book",
    now=NOW,
    policy=Policy(),
    checkpoint="left",
    epoch=4,
    rules=1,
    learnt=LATER,
    examination=LOOKED,
)
EARLY = Request(
    return_id="r",
    identity=IDENTITY,
    instance="i",
    nonce="n",
    now=NOW,
    policy=Policy(),
    checkpoint="left",
    epoch=4,
    rules=1,
)
VIEW = ReturnView(
    return_id="r",
    identity=IDENTITY,
    instance="i",
    purpose="book",
    epoch=4,
    issued=NOW,
    expires=LATER,
    nonce="n",
    items=(ViewItem(id="h0", digest=HASH, kind=Kind.FACT),),
    items_digest=HASH,
    chars=12,
    experiences=(ViewExperience(id="x", digest=HASH, bound_to="h0"),),
    coverage=REPORT,
    policy=HASH,
    checkpoint=HASH,
    withheld=("o",),
    examination=LOOKED,
    open_pairs=2,
)
PAYLOAD_SAMPLES: dict[DeclaredKind, tuple[Any, ...]] = {
    EventKind.OBSERVE: (
        Evidence(text="confirmed", by="bob", at=NOW, scope=SCOPE, source="tool_result"),
        Evidence(
            text="confirmed",
            by="readmit",
            at=NOW,
            scope=SCOPE,
            probe=GitProbe(repository=".", ref="main", commit="0" * 40, path="a.md", digest=HASH, first=2, last=3),
            named_by="bob",
        ),
        Evidence(text="\x1b[31m \u202e", by="bob", at=LATER, scope=Scope(workspace="w")),
    ),
    EventKind.RECORD: ITEMS,
    EventKind.OPEN: (ITEMS[3],),
    EventKind.MOVE: (ITEMS[4],),
    EventKind.SUPERSEDE: (Supersede(target="h0", successor="h1", reason="moved"),),
    EventKind.REVOKE: (Revoke(target="h0", reason="wrong"),),
    EventKind.CLOSE: (Close(target="h0", end=LATER, reason="over"),),
    EventKind.SETTLE: (Settle(target="o", reason="done"),),
    EventKind.DISPUTE: (Dispute(items=("h0", "h1"), reason="both cannot be"),),
    EventKind.RESOLVE: (Resolve(dispute="d", keep=("h1",), reason="asked"), Resolve(dispute="d")),
    EventKind.SUSPECT: (Suspect(pair=PAIR, signal="slot"),),
    EventKind.LINK: (Link(item="m1", need="d1", quote="the room", drafted="linker/link@1", withdrawn=True),),
    EventKind.CONFIRM: (Confirm(target="m1"),),
    EventKind.JUDGE: (
        Verdict(
            pair=PAIR,
            answer=Answer.INVALIDATES,
            confidence=Decimal("0.9"),
            item_quote="Sunrise",
            evidence_quote="confirmed",
            premise="open",
            model="m",
            prompt="p",
        ),
    ),
    EventKind.WAIT: (
        Wait(
            events=(HeldBack(kind="revoke", id="revoke:v", by="eve", at=NOW, body="{}", salt="0" * 32, given=True),),
            limit="5 of 5",
        ),
    ),
    EventKind.APPROVE: (Approve(waiting="w", reason="planned"),),
    EventKind.DECLINE: (Decline(waiting="w"),),
    EventKind.REASSIGN: (Reassign(principal="ann", task="trip", was="planner", role="booker", reason="moved"),),
    EventKind.FORGET: (Forget(targets=("h0",), items=("h0",), erased=(3, 4), reason="asked for"),),
    EventKind.VOID: (Void(event=3, reason="its host said 2060"),),
    EventKind.OVERRULE: (Overrule(target="h0", reason="checked", expires=LATER),),
    EventKind.REMEMBER: (Experience(id="x", owner="ann", text="late check-in", bound_to="h0"),),
    EventKind.LEASE: (
        Lease(identity=IDENTITY, epoch=3, seconds=60, until=LATER),
        Lease(identity=IDENTITY, token=4, epoch=5, seconds=60, until=LATER),
    ),
    EventKind.DEPART: (
        Checkpoint(id="left", identity=IDENTITY, epoch=3, at=NOW, events=2, digest=HASH),
        Checkpoint(id="lost", identity=IDENTITY, epoch=3, at=NOW, events=2, digest=HASH, reason="lease_expired"),
    ),
    EventKind.RETURN: (
        Returned(request=REQUEST, kind="admitted", decision=HASH),
        Returned(request=EARLY, kind="blocked", decision=HASH),
        Returned(request=REQUEST, kind="reset", decision=HASH, timed_out=True, failed="signer_failed"),
    ),
    EventKind.EXPOSE: (
        Exposed(return_id="r", instance="i", agent="3:anntrip", refused=("view_expired",)),
        Exposed(return_id="r", instance="i", agent="3:anntrip", again=True),
    ),
    EventKind.ACKNOWLEDGE: (Acknowledge(return_id="r", instance="i"),),
    EventKind.EXAMINE: (Examine(checkpoint="left", identity=IDENTITY, verifier="nli", until=4),),
    EventKind.LOOK: (
        Looked(unchanged=(HASH,)),
        Looked(
            found=(
                LookResult(evidence=HASH, finding=Finding.CHANGED, now=HASH, digest=HASH, since=3),
                LookResult(evidence=HASH, finding=Finding.MOVED, probe=FileProbe(path="a", digest=HASH)),
                LookResult(evidence=HASH, finding=Finding.UNSEEN, why="forbidden"),
            )
        ),
    ),
    EventKind.RESOURCE: (Resource(target="h0", evidence=HASH, now=HASH, quote="two nights", drafted="nli"),),
    EventKind.GOVERN: (
        Policy(),
        Policy(
            paper={"gamma": Decimal("0.5")},
            evidence={"writers": ("ann",)},
            returns={"on_incomplete": "reset"},
            looks=LookRules(hosts=("a.example",)),
        ),
        Policy(
            returns={"on_incomplete": "partial", "fill": "block", "examination": "required", "max_clock_skew": 60},
            paper={"constraints": "as_needed"},
            limits={"duties": 3},
        ),
    ),
    EventKind.WRITER: (WriterKey(principal="bob", key=HASH, change="revoke", public="QQ==", since=3, reason="stolen"),),
    EventKind.KEY: (KeyChange(key=HASH, change="retire", public="QQ==", until=LATER, reason="rotated"),),
}
OTHER_SAMPLES: tuple[Any, ...] = (
    REPORT,
    REQUEST,
    VIEW,
    Cause(reason=Reason.SUPERSEDED, epoch=3, ref="h1", by="bob", note="moved", root="p"),
    Disposition(
        item="h0", digest=HASH, state=State.SUPERSEDED, reasons=(Reason.SUPERSEDED,),
        causes=(Cause(reason=Reason.SUPERSEDED),), overruled=(Cause(reason=Reason.REVOKED),),
        recovered=(Cause(reason=Reason.RECOVERED, ref="p2", root="p"),),
    ),
    Selection(
        outcome="found", items=("h0",), mandatory=("o",), constraints=("i",), fill=("c",), cost=3, chars=3,
        report=REPORT, absent=("f",), withheld=("o2",),
    ),
    LOOKED,
    DutyNote(obligation="o", state=DutyState.OVERDUE, handed_over=True, lacks=("d_p",)),
    Envelope(payload="QQ==", payloadType="t", signatures=(Signature(keyid="k", sig="QQ=="),)),
    ExperienceNote(experience="x", bound_to="h0", reason=Reason.SOURCE_IN_VIEW),
    Decision(
        kind="admitted", return_id="r", epoch=4, reasons=(Reason.COVERAGE_SHORT,), note="n", report=REPORT,
        candidates=1, dispositions=HASH, view=VIEW, solver="exact", timed_out=True,
        experiences=(ExperienceNote(experience="x", bound_to="h0", reason=Reason.SOURCE_IN_VIEW),),
        duties=(DutyNote(obligation="o", state=DutyState.OBSTRUCTED),), absent=("o",), examination=LOOKED, open_pairs=1,
    ),
)  # fmt: skip
