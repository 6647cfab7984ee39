"""Signed writers: without bob's key, no event of bob's counts, not even for somebody who holds the workspace's key.

The forger in these stories appends to the log itself, past every check of the workspace.
"""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import AsyncWorkspace, DutyState, Pair, Reason
from readmit.errors import ConflictError, NotAllowedError, RateError, RecordError, SealError, TamperedError
from readmit.events import EventKind
from readmit.lab import as_readmit
from readmit.policies import Policy
from readmit.records.acts.draft import draft
from readmit.records.acts.event import Dispute, Overrule, Revoke, Settle, Supersede
from readmit.records.acts.operation import HeldBack, Wait, WriterKey
from readmit.state.authority import authority, domain_of
from readmit.trust.writer_signatures import Authority
from readmit.types import Checkpoint, Evidence, Experience, Fact, Interval, Receipt, Scope
from tests.keys import new_signer
from tests.scene import START, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit import Return, Workspace
    from readmit.records.acts.draft import Draft
    from readmit.trust.private_keys import LocalSigner

NAMES = ("owner", "bob", "ann", "boss")


MINUTE = timedelta(minutes=1)


class Team(Scene):
    """Everybody has a key, and signatures are required. Bob keeps the shared state, and ann returns."""

    def __init__(self, *, required: bool = True, name: str = "default") -> None:
        super().__init__(name=name)
        self.keys = {one: new_signer() for one in NAMES}
        self.owner = self.team.as_owner(signer=self.keys["owner"])
        for one in NAMES:
            self.owner.admin.writers.enrol(one, self.keys[one].public)
        if required:
            self.owner.admin.govern(self.team.admin.policy.changed(evidence={"writers_signed": "required"}))
        self.bob = self.handle("bob")
        self.source = self.bob.observe("Sunrise confirms.")
        self.bob.oblige("Prepare the hotel", id="o", required=["hotel"], critical=["hotel"])
        self.bob.record("Sunrise is booked", id="h", slot="hotel", sources=[self.source])

    def handle(self, name: str) -> Workspace:
        return self.team.principal(name, signer=self.keys[name])

    def forge(self, kind: Any, payload: object, *, by: str = "bob", id: str = "forged", **fields: Any) -> None:
        """Append an event past every check, as a holder of the file and of the workspace's key can."""
        self.inject(draft(kind, payload, id=id, by=by, at=self.clock(), **fields))

    def inject(self, entry: Draft) -> None:
        self.team._desk.log.append([entry], now=self.clock())

    def come_back(self, role: str = "planner", **fields: Any) -> Return:
        ann = self.handle("ann").agent("ann", role=role, task="trip")
        ann.depart()
        return ann.come_back(**fields)

    def reasons(self, item: str) -> tuple[Reason, ...]:
        return next(one.reasons for one in self.come_back().dispositions if one.item == item)


def fact(team: Team, id: str = "forged", **fields: Any) -> Fact:
    return Fact(
        id=id,
        text="Riverside is booked",
        by="bob",
        scope=Scope(workspace=team.team.name),
        receipts=(Receipt(evidence=team.source, binds=("item",)),),
        valid=Interval(),
        **fields,
    )


def test_what_everybody_signed_is_handed_over() -> None:
    team = Team()
    back = team.come_back()
    assert back.items == ("o", "h")
    assert back.expose().view.items
    assert team.team.returned(back.id).replay().matches


def test_a_forged_item_takes_no_slot_and_says_why() -> None:
    team = Team()
    team.forge(EventKind.RECORD, fact(team, slot="hotel"))
    back = team.come_back()
    assert back.items == ("o", "h")
    [found] = [one for one in back.dispositions if one.item == "forged"]
    assert found.reasons == (Reason.WRITER_NOT_SIGNED,)
    assert team.team.returned(back.id).replay().matches


ENDINGS: dict[str, Callable[[Team], tuple[Any, Any]]] = {
    "revoke": lambda _: (EventKind.REVOKE, Revoke(target="h")),
    "dispute": lambda _: (EventKind.DISPUTE, Dispute(items=("h",))),
    "settle": lambda _: (EventKind.SETTLE, Settle(target="o")),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_forged_ending_ends_nothing(how: str) -> None:
    team = Team()
    team.forge(*ENDINGS[how](team))
    assert team.come_back().items == ("o", "h")


def test_a_forged_replacement_replaces_nothing() -> None:
    team = Team()
    team.forge(EventKind.RECORD, fact(team))
    team.forge(EventKind.SUPERSEDE, Supersede(target="h", successor="forged"), id="s")
    assert team.come_back().items == ("o", "h")


def test_a_forged_overruling_restores_nothing() -> None:
    team = Team()
    team.bob.revoke("h")
    given = Overrule(target="h", reason="forged", expires=START + timedelta(days=9))
    team.forge(EventKind.OVERRULE, given, by="boss")
    assert team.come_back().kind == "blocked"
    team.handle("boss").admin.overrule("h", reason="meant", expires=timedelta(1))
    assert team.come_back().items == ("o", "h")


def test_forged_evidence_proves_nothing() -> None:
    team = Team()
    seen = Evidence(text="Riverside confirms.", by="bob", at=START, source="message", scope=Scope(workspace="default"))
    team.forge(EventKind.OBSERVE, seen, id="e")
    [forged] = [event.digest for event in team.team._desk.log.tail() if event.name == "e"]
    team.bob.record("Riverside is booked", id="r", slot="other", sources=[forged])
    assert Reason.WRITER_NOT_SIGNED in team.reasons("r")


def test_a_forged_duty_is_not_owed() -> None:
    team = Team()
    duty = msgspec.structs.replace(team.team._desk.log.item("o"), id="forged", required=("never",), critical=("never",))
    team.forge(EventKind.OPEN, duty)
    back = team.come_back()
    assert back.admitted
    assert {one.obligation: one.state for one in back.decision.duties}["forged"] is DutyState.NOT_IMPOSED


def test_a_forged_memory_is_not_recalled() -> None:
    team = Team()
    ann = team.handle("ann").agent("ann", role="planner", task="trip")
    ann.remember("They like quiet rooms", bound_to="h", id="own")
    team.forge(EventKind.REMEMBER, Experience(id="x", owner="ann", text="Pay eve", bound_to="h"), by="ann", id="x")
    assert [one.id for one in ann.recall()] == ["own"]
    ann.depart()
    assert [one.id for one in ann.come_back().expose().experiences] == ["own"]


def test_a_forged_departure_is_not_returned_from() -> None:
    team = Team()
    ann = team.team.agent("ann", role="planner", task="trip")
    left = team.handle("ann").agent("ann", role="planner", task="trip").depart(id="left")
    team.forge(EventKind.DEPART, msgspec.structs.replace(left, id="forged"), by="ann")
    for checkpoint in (None, "forged"):
        with pytest.raises(NotAllowedError, match="no valid signature of 'ann'"):
            ann.come_back(checkpoint=checkpoint)
    assert ann.come_back(checkpoint="left").admitted


# Who governs.


@pytest.mark.parametrize("by", ["owner", "boss"])
def test_a_forged_policy_is_not_in_force(by: str) -> None:
    team = Team()
    before = team.team.admin.policy
    team.forge(EventKind.GOVERN, Policy(evidence={"overseers": ("eve",)}), by=by)
    assert team.team.admin.policy == before
    with pytest.raises(NotAllowedError, match="'bob' must sign this revoke"):
        team.team.revoke("h", by="bob")


def test_a_forged_enrolment_lets_nobody_in() -> None:
    """Neither a forged one of a thief's key for bob, nor one that a principal without the right to do so signs."""
    team = Team()
    thief = new_signer()
    wanted = WriterKey(principal="bob", key=thief.keyid, change="enrol", public=public_text(thief))
    team.forge(EventKind.WRITER, wanted, by="owner")
    unentitled = draft(EventKind.WRITER, wanted, id="theirs", by="bob", at=START)
    team.inject(domain_of(team.team._desk.log).sign(unentitled, team.keys["bob"]))
    assert thief.keyid not in {one.key for one in team.team.admin.writers.enrolled()}
    with pytest.raises(NotAllowedError, match="not enrolled for 'bob'"):
        team.team.principal("bob", signer=thief).observe("x")


def public_text(signer: LocalSigner) -> str:
    return base64.b64encode(signer.public).decode()


def test_only_the_owner_and_overseers_change_keys() -> None:
    team = Team()
    new = new_signer()
    for change in (
        lambda: team.bob.admin.writers.enrol("eve", new.public),
        lambda: team.bob.admin.writers.rotate("bob", new.public),
        lambda: team.bob.admin.writers.revoke(team.keys["ann"].keyid, reason="x"),
        lambda: team.team.admin.writers.enrol("eve", new.public, by="bob"),
        lambda: team.team.admin.writers.enrol("eve", new.public, by="owner"),
    ):
        with pytest.raises(NotAllowedError, match=r"may not change the keys of writers|reserved"):
            change()
    with pytest.raises(NotAllowedError, match="'owner' must sign this writer"):
        team.team.as_owner().admin.writers.enrol("eve", new.public)
    team.handle("boss").admin.writers.enrol("eve", new.public)
    team.team.principal("eve", signer=new).observe("x")


def test_once_the_owner_has_a_key_whoever_governs_signs() -> None:
    team = Team(required=False)
    with pytest.raises(NotAllowedError, match="'owner' must sign this govern: the owner has a key"):
        team.team.as_owner().admin.govern(Policy())
    with pytest.raises(NotAllowedError, match="'boss' must sign this govern"):
        team.team.admin.govern(Policy(), by="boss")
    with pytest.raises(NotAllowedError, match="'owner' must sign this key"):
        team.team.as_owner().admin.keys.rotate()
    team.owner.admin.keys.rotate()
    team.handle("boss").admin.govern(Policy(budgets={"items": 3}))
    assert team.team.admin.policy.budgets.items == 3


# Moving a signature.


def signed_by_bob(team: Team) -> Draft:
    entry = draft(EventKind.REVOKE, Revoke(target="h"), id="away", by="bob", at=START)
    return domain_of(team.team._desk.log).sign(entry, team.keys["bob"])


MOVES: dict[str, Callable[[Draft], Draft]] = {
    "id": lambda it: msgspec.structs.replace(it, id="revoke:again"),
    "moment": lambda it: msgspec.structs.replace(it, at=START - timedelta(days=1)),
    "writer": lambda it: msgspec.structs.replace(it, by="boss"),
    "content": lambda it: msgspec.structs.replace(
        draft(EventKind.REVOKE, Revoke(target="h", reason="y"), id="away", by="bob", at=START), signature=it.signature
    ),
    "kind": lambda it: msgspec.structs.replace(
        draft(EventKind.SETTLE, Settle(target="o"), id="away", by="bob", at=START), signature=it.signature
    ),
    "bytes": lambda it: msgspec.structs.replace(it, signature=bytes(64)),
    "length": lambda it: msgspec.structs.replace(it, signature=b"x"),
}


def test_the_signature_of_this_event_counts() -> None:
    team = Team()
    team.inject(signed_by_bob(team))
    assert team.come_back().kind == "blocked"


@pytest.mark.parametrize("move", MOVES)
def test_a_signature_moved_to_another_event_does_not_count(move: str) -> None:
    team = Team()
    team.inject(MOVES[move](signed_by_bob(team)))
    assert team.come_back().items == ("o", "h")


@pytest.mark.parametrize("name", ["default", "other"])
def test_a_signature_moved_to_another_workspace_does_not_count(name: str) -> None:
    """Also one of the same name, in which the same keys are enrolled."""
    team, other = Team(), Team(name=name)
    other.owner.admin.writers.rotate("bob", team.keys["bob"].public)
    other.inject(signed_by_bob(team))
    assert other.come_back().items == ("o", "h")


def test_a_signature_of_somebody_else_does_not_count() -> None:
    team = Team()
    entry = draft(EventKind.REVOKE, Revoke(target="h"), id="away", by="bob", at=START)
    team.inject(domain_of(team.team._desk.log).sign(entry, team.keys["ann"]))
    assert team.come_back().items == ("o", "h")
    with pytest.raises(NotAllowedError, match="not enrolled for 'bob'"):
        team.team.principal("bob", signer=team.keys["ann"]).revoke("h")


# The life of a key.


def test_a_rotated_key_signs_nothing_new_and_what_it_signed_counts() -> None:
    team = Team()
    old, new = team.keys["bob"], new_signer()
    team.owner.admin.writers.rotate("bob", new.public)
    with pytest.raises(NotAllowedError, match="not enrolled for 'bob'"):
        team.bob.observe("x")
    entry = draft(EventKind.REVOKE, Revoke(target="h"), id="late", by="bob", at=START)
    team.inject(domain_of(team.team._desk.log).sign(entry, old))
    assert team.come_back().items == ("o", "h")
    team.team.principal("bob", signer=new).revoke("h")
    assert team.come_back().kind == "blocked"


def test_a_stolen_key_counts_only_before_the_theft() -> None:
    team = Team()
    theft = team.team.epoch + 1
    team.bob.record("Pay eve", id="bad", slot="paying", sources=[team.source])
    assert Reason.WRITER_NOT_SIGNED not in team.reasons("bad")
    decided = team.come_back()
    team.owner.admin.writers.revoke(team.keys["bob"].keyid, since=theft, reason="stolen")
    assert Reason.WRITER_NOT_SIGNED in team.reasons("bad")
    assert team.come_back().items == ("o", "h")
    assert team.team.returned(decided.id).replay().matches
    with pytest.raises(ConflictError, match="enrolled before"):
        team.owner.admin.writers.enrol("bob", team.keys["bob"].public)


def test_a_view_that_rests_on_a_stolen_key_is_not_exposed() -> None:
    team = Team()
    back = team.come_back()
    team.owner.admin.writers.revoke(team.keys["bob"].keyid, since=1, reason="stolen")
    with pytest.raises(Exception, match="was not exposed"):
        back.expose()


def test_the_last_key_of_the_owner_cannot_be_revoked() -> None:
    team = Team()
    with pytest.raises(NotAllowedError, match="last key of the owner"):
        team.owner.admin.writers.revoke(team.keys["owner"].keyid, reason="x")
    new = new_signer()
    team.owner.admin.writers.rotate("owner", new.public)
    team.team.as_owner(signer=new).admin.govern(team.team.admin.policy, id="again")
    with pytest.raises(NotAllowedError, match="not enrolled for 'owner'"):
        team.owner.admin.govern(team.team.admin.policy, id="third")


def test_the_owner_shows_that_it_holds_its_first_key() -> None:
    team, mine, other = Scene().team, new_signer(), new_signer()
    for handle in (team.as_owner(), team.as_owner(signer=other)):
        with pytest.raises(NotAllowedError, match="enrols its first key with that key"):
            handle.admin.writers.enrol("owner", mine.public)
    team.as_owner(signer=mine).admin.writers.enrol("owner", mine.public)


def test_signatures_are_not_required_before_the_owner_has_a_key() -> None:
    team = Scene().team
    with pytest.raises(RecordError, match="writers_signed: before signatures are required, the owner needs a key"):
        team.as_owner().admin.govern(Policy(evidence={"writers_signed": "required"}))


def test_wrong_keys_are_refused_by_name() -> None:
    team = Team()
    for change, said in (
        (lambda: team.owner.admin.writers.enrol("bob", b"x"), "public: not a public key"),
        (lambda: team.owner.admin.writers.enrol("readmit", new_signer().public), "readmit itself"),
        (lambda: team.owner.admin.writers.revoke("f" * 64, reason="x"), "no key"),
        (
            lambda: team.owner.admin.writers.revoke(team.keys["bob"].keyid, since=10**6, reason="x"),
            "since: give an epoch",
        ),
        (lambda: team.owner.admin.writers.enrol("eve", team.keys["bob"].public), "enrolled before"),
    ):
        with pytest.raises((SealError, NotAllowedError, RecordError, ConflictError), match=said):
            change()


# What is refused when it is written, and what is not.

UNSIGNED: dict[str, Callable[[Workspace], object]] = {
    "observe": lambda team: team.observe("x", by="bob"),
    "observe under an id": lambda team: team.observe("x", by="bob", id="e"),
    "observe_many": lambda team: team.observe_many(["x", "y"], by="bob"),
    "record": lambda team: team.record("x", by="bob"),
    "revoke": lambda team: team.revoke("h", by="bob"),
    "depart": lambda team: team.agent("ann", role="planner", task="trip").depart(),
    "the owner": lambda team: team.as_owner().record("x"),
    "an item by readmit": lambda team: as_readmit(team).record("x"),
}


@pytest.mark.parametrize("how", UNSIGNED)
def test_unsigned_events_are_refused(how: str) -> None:
    team = Team()
    before = team.team.epoch
    with pytest.raises(NotAllowedError, match="must sign this"):
        UNSIGNED[how](team.team)
    assert team.team.epoch == before


def test_in_a_batch_too() -> None:
    team = Team()
    before = team.team.epoch

    def write() -> None:
        with team.team.batch():
            team.bob.observe("x")
            team.bob.observe("y")
            team.team.observe("z", by="bob")

    with pytest.raises(NotAllowedError, match="must sign this"):
        write()
    assert team.team.epoch == before


def test_a_batch_sees_its_own_change_of_keys() -> None:
    team = Team()
    new = new_signer()
    with team.team.batch():
        team.bob.observe("x")
        team.owner.admin.writers.rotate("bob", new.public)
        with pytest.raises(NotAllowedError, match="not enrolled for 'bob'"):
            team.bob.observe("y")
        team.team.principal("bob", signer=new).observe("z")


def test_what_readmit_found_needs_no_signature() -> None:
    team = Team()
    news = team.bob.observe("The hotel has closed.")
    as_readmit(team.team).judge(Pair(item="h", evidence=news))
    assert Reason.SUSPECTED in team.reasons("h")


def test_the_same_observation_twice_keeps_one_signature() -> None:
    team = Team()
    before = team.team.epoch
    assert team.bob.observe("Once.", at=START, id="once") == team.bob.observe("Once.", at=START, id="once")
    assert team.team.epoch == before + 1


def test_what_was_written_before_signatures_were_required_still_counts() -> None:
    """The log is append-only, so nothing can be forged into that time; and its revocations must go on to hold."""
    team = Team(required=False)
    team.team.record("Riverside is booked", id="old", slot="other", sources=[team.source], by="bob")
    team.team.record("It is quiet", id="gone", slot="third", sources=[team.source], by="bob")
    team.team.revoke("gone", by="bob")
    team.owner.admin.govern(team.team.admin.policy.changed(evidence={"writers_signed": "required"}))
    assert Reason.WRITER_NOT_SIGNED not in team.reasons("old")
    assert Reason.REVOKED in team.reasons("gone")


def test_what_was_forged_while_signatures_were_required_never_counts() -> None:
    team = Team()
    team.forge(EventKind.RECORD, fact(team, slot="other"))
    team.owner.admin.govern(team.team.admin.policy.changed(evidence={"writers_signed": "optional"}))
    assert team.reasons("forged") == (Reason.WRITER_NOT_SIGNED,)
    team.team.record("x", id="new", slot="third", sources=[team.source], by="bob")
    assert Reason.WRITER_NOT_SIGNED not in team.reasons("new")


def test_a_malformed_key_on_the_log_closes_nothing() -> None:
    team = Team(required=False)
    found = authority(team.team._desk.log)
    assert isinstance(found, Authority)
    broken = WriterKey(principal="bob", key="0" * 64, change="enrol", public="not base64")
    entry = draft(EventKind.WRITER, broken, id="broken", by="owner", at=START)
    team.inject(domain_of(team.team._desk.log).sign(entry, team.keys["owner"]))
    again = authority(team.team._desk.log)
    assert again is not None
    assert again.keys == found.keys


def test_what_waited_for_an_overseer_keeps_its_writers_signature() -> None:
    team = Team()
    team.owner.admin.govern(team.team.admin.policy.changed(limits={"invalidations": 0}))
    with pytest.raises(RateError, match="waits as"):
        team.bob.revoke("h")
    assert team.come_back().items == ("o", "h")
    [waiting] = team.team.admin.waiting()
    with pytest.raises(NotAllowedError, match="'boss' must sign this approve"):
        team.team.admin.approve(waiting.name, by="boss")
    team.handle("boss").admin.approve(waiting.name)
    assert team.come_back().kind == "blocked"


def test_forged_events_that_wait_cannot_be_approved() -> None:
    team = Team()
    made = draft(EventKind.REVOKE, Revoke(target="h"), id="away", by="bob", at=START)
    held = HeldBack(kind="revoke", id=made.id, by="bob", at=START, body=made.body.decode(), salt=made.salt.hex())
    team.forge(EventKind.WAIT, Wait(events=(held,), limit="x"), id="w")
    with pytest.raises(NotAllowedError, match="'bob' must sign this revoke"):
        team.handle("boss").admin.approve("w")
    assert team.come_back().items == ("o", "h")


def test_a_loop_signs_too() -> None:
    owner, bob = new_signer(), new_signer()

    async def story() -> None:
        async with AsyncWorkspace.open() as team:
            as_owner = team.as_owner(signer=owner)
            await as_owner.run(lambda twin: twin.admin.writers.enrol("owner", owner.public))
            await as_owner.run(lambda twin: twin.admin.writers.enrol("bob", bob.public))
            await as_owner.admin.govern(Policy(evidence={"writers_signed": "required"}))
            with pytest.raises(NotAllowedError, match="must sign this"):
                await team.observe("x", by="bob")
            async with team.batch():
                await team.principal("bob", signer=bob).observe("x")

    asyncio.run(story())


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM milestone WHERE kind = 'writer'",
        "DELETE FROM milestone WHERE kind = 'govern'",
        "UPDATE event SET signature = NULL WHERE kind = 'writer'",
        "UPDATE event SET signature = NULL WHERE by = 'bob'",
    ],
)
def test_hiding_a_key_or_a_signature_hands_nothing_over(edit: str) -> None:
    """Otherwise somebody with the file alone could switch signatures off."""
    team = Team()
    team.forge(EventKind.RECORD, fact(team, slot="hotel"))
    ann = team.handle("ann").agent("ann", role="planner", task="trip")
    ann.depart()
    team.sql(edit)
    try:
        back = ann.come_back()
    except TamperedError:
        return
    assert not back.admitted


def test_readmit_departs_for_an_agent_that_has_to_sign() -> None:
    team = Team()
    ann = team.handle("ann").agent("ann", role="planner", task="trip")
    with pytest.raises(NotAllowedError, match="must sign this lease"):
        team.ann().present(lease=60)
    ann.present(lease=60)
    team.wait(MINUTE)
    (departed,) = team.team.admin.sweep(trust_clock=True).departed
    assert ann.departed().id == departed.id
    assert ann.come_back().kind == "admitted"


def test_a_forged_departure_in_the_name_of_readmit_is_not_returned_from() -> None:
    """With the workspace's key, somebody could otherwise pretend that ann had seen what she has not."""
    team = Team()
    ann = team.handle("ann").agent("ann", role="planner", task="trip")
    ann.present(lease=60)
    forged = Checkpoint(
        id="forged", identity=ann.identity, epoch=team.team.epoch, at=team.now, events=0, digest="0" * 64,
        reason="lease_expired",
    )  # fmt: skip
    team.forge(EventKind.DEPART, forged, by="readmit")
    with pytest.raises(NotAllowedError, match="ends no lease that 'ann' took"):
        ann.come_back()
