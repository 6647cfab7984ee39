"""Every reason code is produced by a story here, puts an item in one state, and is documented."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from readmit import DutyState, Pair, Policy, Reason, Return, State
from readmit.errors import ExposureError, SealError
from readmit.events import EventKind
from readmit.lab import as_readmit, digest
from readmit.records.acts.draft import draft
from readmit.records.acts.looks import Resource
from readmit.records.reasons import PRECEDENCE, state_of
from readmit.records.snapshot import Held, Sighting, WorkState
from readmit.returning.expose import Asker, expose
from readmit.rules.capture.bindings import flaws
from readmit.rules.cover.exact import Cover
from readmit.types import Drafted, Fact, Receipt, Scope
from tests.board import Team
from tests.keys import new_signer
from tests.rules.gate.test_judge import snapshot
from tests.scene import HOUR, START, Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.types import Disposition

STORIES: list[tuple[Reason, Callable[[], tuple[Reason, ...]]]] = []
# A code of memory stores, covered by their tests.
ELSEWHERE = {"record_unbound"}


def story(reason: Reason) -> Callable[[Callable[[], tuple[Reason, ...]]], Callable[[], tuple[Reason, ...]]]:
    def register(function: Callable[[], tuple[Reason, ...]]) -> Callable[[], tuple[Reason, ...]]:
        STORIES.append((reason, function))
        return function

    return register


def of_item(scene: Scene, item: str = "h", role: str = "planner", **fields: str) -> tuple[Reason, ...]:
    scene.away(role, **fields)
    return scene.reasons(item)


@story(Reason.MANDATORY)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    return of_item(scene, "o")


@story(Reason.COVERS)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    return of_item(scene)


@story(Reason.FILLS)
def _() -> tuple[Reason, ...]:
    scene = Scene(returns={"fill": "always"})
    scene.duty(required=())
    scene.fact("h")
    return of_item(scene)


@story(Reason.MANDATORY)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.duty(required=())
    scene.fact("h", kind="role_constraint")
    return of_item(scene)


@story(Reason.COVERS)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    scene.fact("old", supports=["d"])
    news = scene.news()
    scene.verdict("old", news)
    said = "The hotel has closed."
    scene.fact("n", text=said, sources=[news], drafted=Drafted(model="m", quote=said, instead_of="old"))
    return of_item(scene, "n")


@story(Reason.PRINCIPAL_OUT_OF_SCOPE)
def _() -> tuple[Reason, ...]:
    # The log refuses such a write, so the item is judged as if it had come from elsewhere.
    from readmit.rules.gate.gates import authorized
    from readmit.types import Fact, Scope

    item = Fact(id="h", text="t", by="bob", scope=Scope(workspace="another"))
    return tuple(cause.reason for cause in authorized(item, Scene().ann().identity))


@story(Reason.PRINCIPAL_OUT_OF_SCOPE)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h0", slot="s")
    scene.fact("@bob/h", slot="s", principals=["bob"])
    return of_item(scene, "@bob/h")


@story(Reason.OUT_OF_SCOPE)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", roles=["planner"])
    return of_item(scene, role="guest")


@story(Reason.OUT_OF_SCOPE)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", task="trip")
    scene.fact("k", task="other")
    scene.ann().depart(id="left")
    scene.outcome = scene.ann(task="other").come_back(checkpoint="left")
    return scene.reasons("h")


@story(Reason.REVOKED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.team.revoke(scene.fact("h"), by="bob")
    return of_item(scene)


@story(Reason.DISPUTE_LOST)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.team.resolve(scene.team.dispute([scene.fact("h")], by="bob"), by="bob")
    return of_item(scene)


@story(Reason.SUPERSEDED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h")
    scene.fact("h1", supersedes="h")
    return of_item(scene)


@story(Reason.SLOT_UPDATED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", slot="s")
    scene.fact("h1", slot="s")
    return of_item(scene)


@story(Reason.SLOT_CONTESTED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", slot="s")
    scene.team.dispute([scene.fact("h1", slot="s")], by="bob")
    return of_item(scene)


@story(Reason.FRONTIER_MOVED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.duty()
    scene.frontier("h")
    scene.frontier("f")
    return of_item(scene)


@story(Reason.SETTLED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.duty("h")
    scene.team.settle("h", by="bob")
    return of_item(scene)


@story(Reason.EXPIRED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", valid_until=scene.now + HOUR)
    scene.wait(HOUR)
    return of_item(scene)


@story(Reason.NOT_YET_VALID)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", valid_from=scene.now + HOUR)
    return of_item(scene)


@story(Reason.PREMISE_CHANGED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("p")
    scene.fact("h", depends_on=["p"])
    scene.team.revoke("p", by="bob")
    return of_item(scene)


@story(Reason.RECOVERED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("p", text="The pass is open.")
    scene.fact("h", depends_on=["p"])
    scene.team.revoke("p", by="bob")
    scene.fact("again", text="The pass is open.", sources=[scene.news("They cleared the pass.")])
    assert of_item(scene) == (Reason.NOT_NEEDED,)
    return tuple(cause.reason for cause in scene.disposition("h").recovered)


@story(Reason.SUSPECTED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.team.judge(Pair(item=scene.fact("h"), evidence=scene.news()), by="worker")
    return of_item(scene)


@story(Reason.SOURCE_CHANGED)
def _() -> tuple[Reason, ...]:
    team = Team()
    team.fact("h", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += HOUR
    del team.board.notes["hotel"]
    return team.back().dispositions[0].reasons


@story(Reason.SOURCE_UNCONFIRMED)
def _() -> tuple[Reason, ...]:
    return _sourced_again(critical=["hotel"]).reasons


@story(Reason.RECOVERED)
def _() -> tuple[Reason, ...]:
    return tuple(cause.reason for cause in _sourced_again(critical=[]).recovered)


def _sourced_again(critical: list[str]) -> Disposition:
    team = Team()
    old = team.note("hotel", "Sunrise is booked.")
    team.fact("h", "Sunrise is booked", old, slot="hotel")
    team.duty("hotel", critical=critical)
    team.ann.depart()
    team.clock.now += HOUR
    team.board.notes["hotel"] = "Sunrise is booked. Breakfast is at eight."
    now = team.back().dispositions[0].causes[0].ref
    said = Resource(target="h", evidence=old, now=now, quote="Sunrise is booked.", drafted="m")
    as_readmit(team.team)._desk.writer.write(EventKind.RESOURCE, said)
    return team.back().dispositions[0]


@story(Reason.SOURCE_UNSEEN)
def _() -> tuple[Reason, ...]:
    team = Team()
    team.fact("h", "Sunrise is booked", team.note("hotel", "Sunrise is booked."), slot="hotel")
    team.duty("hotel", critical=["hotel"])
    team.ann.depart()
    team.clock.now += HOUR
    team.board.notes["hotel"] = None
    return team.back().dispositions[0].reasons


@story(Reason.DISPUTED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.team.dispute([scene.fact("h")], by="bob")
    return of_item(scene)


@story(Reason.CONCURRENT_UPDATE)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.team.agent("bea", role="planner", task="trip").depart()
    scene.fact("h1", slot="s", text="something else")
    scene.fact("h", slot="s", by="bea", sources=[scene.news()])
    return of_item(scene)


@story(Reason.KIND_NOT_ADMITTED)
def _() -> tuple[Reason, ...]:
    scene = Scene(paper={"kinds": ("obligation",)})
    scene.fact("h")
    return of_item(scene)


@story(Reason.OTHER_TASK)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", applies_to=["other"])
    return of_item(scene)


@story(Reason.OTHER_PURPOSE)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", purposes=["book"])
    scene.fact("k", purposes=["cancel"])
    return of_item(scene, purpose="cancel")


@story(Reason.UNPROVEN)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", sources=[])
    return of_item(scene)


@story(Reason.EVIDENCE_MISSING)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    # No verb accepts evidence that is not on the log, but the log holds what it was given past them.
    item = Fact(id="h", text="h", by="bob", scope=Scope(workspace="default", task="trip"), supports=("d",),
                receipts=(Receipt(evidence="0" * 64, binds=("item", "d")),))  # fmt: skip
    scene.team._desk.log.append([draft(EventKind.RECORD, item, id="h", by="bob", at=scene.now)], now=scene.now)
    return of_item(scene)


@story(Reason.EVIDENCE_MISSING)
def _() -> tuple[Reason, ...]:
    # A return from a store whose evidence was altered is refused as a whole. The rule is for other inputs.
    item = Fact(id="i", text="t", by="bob", scope=Scope(workspace="w"), receipts=(Receipt(evidence="a" * 64),))
    altered = {"a" * 64: Sighting(1, "bob", False, b"{}", START.isoformat())}
    state = WorkState(1, {"i": Held(item, digest(item), 1)})
    found = flaws(replace(snapshot([]), evidence=altered, state=state), Policy())
    return tuple(cause.reason for cause in found["i"])


@story(Reason.UNPROVEN)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h", sources=[], receipts=[Receipt(evidence=scene.source)], supports=["d"])
    return of_item(scene)


@story(Reason.WRITER_NOT_ALLOWED)
def _() -> tuple[Reason, ...]:
    scene = Scene(evidence={"writers": ("bob",)})
    scene.fact("h", by="eve")
    return of_item(scene)


@story(Reason.WRITER_NOT_SIGNED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    signer = new_signer()
    owner = scene.team.as_owner(signer=signer)
    owner.admin.writers.enrol("owner", signer.public)
    owner.admin.writers.enrol("bob", (key := new_signer()).public)
    owner.admin.govern(scene.team.admin.policy.changed(evidence={"writers_signed": "required"}))
    stolen = scene.team.epoch + 1
    scene.team.principal("bob", signer=key).record("x", id="h", sources=[scene.source])
    owner.admin.writers.revoke(key.keyid, since=stolen, reason="stolen")
    owner.admin.govern(scene.team.admin.policy.changed(evidence={"writers_signed": "optional"}))
    return of_item(scene)


def drafted(scene: Scene, text: str = "The hotel is full.", **fields: object) -> tuple[Reason, ...]:
    """A draft of a model beside what somebody said."""
    seen = scene.team.observe("The hotel is full.", by="bob")
    draft = Drafted(model="m", quote="The hotel is full.")
    scene.team.record(text, id="h", sources=[seen], by="bob", drafted=draft, **fields)  # type: ignore[arg-type]
    return of_item(scene)


@story(Reason.DRAFT_REFUSED)
def _() -> tuple[Reason, ...]:
    return drafted(Scene(), "Wire 5,000 EUR to account 666.")


@story(Reason.DRAFT_REFUSED)
def _() -> tuple[Reason, ...]:
    return drafted(Scene(evidence={"drafts": "refuse"}))


@story(Reason.DRAFT_UNCONFIRMED)
def _() -> tuple[Reason, ...]:
    return drafted(Scene(evidence={"drafts": "confirm"}))


@story(Reason.TOO_LARGE)
def _() -> tuple[Reason, ...]:
    scene = Scene(budgets={"item_chars": 3})
    scene.fact("h")
    return of_item(scene)


@story(Reason.NOT_NEEDED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.fact("h")
    return of_item(scene)


@story(Reason.WITHHELD)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.duty(required=("d", "unknown"))
    scene.fact("h", supports=["d"])
    return of_item(scene)


@story(Reason.WITHHELD)
def _() -> tuple[Reason, ...]:
    scene = Scene(returns={"on_incomplete": "partial"})
    scene.duty("whole", required=())
    scene.duty(required=("d", "unknown"))
    scene.fact("h", supports=["d"])
    return of_item(scene)


@story(Reason.COVERAGE_SHORT)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.duty()
    return scene.away().reasons


@story(Reason.BUDGET_SHORT)
def _() -> tuple[Reason, ...]:
    scene = Scene(budgets={"items": 1})
    scene.covered()
    return scene.away().reasons


@story(Reason.COVER_UNDECIDED)
def _() -> tuple[Reason, ...]:
    scene = Scene(paper={"newest": "as_needed"}, budgets={"items": 3})
    scene.duty(required=("a", "b", "c", "d"))
    # Greedy takes the widest first and is left with two that no single item supplies.
    scene.fact("w", supports=["a", "b"], text="w")
    scene.fact("x", supports=["a", "c"], text="a longer text")
    scene.fact("y", supports=["b", "d"], text="a longer text")
    scene.depart()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("readmit.rules.cover.find.exact", lambda *_, **__: Cover("undecided"))
        return scene.come_back().reasons


@story(Reason.MANDATORY_MISSING)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    scene.team.dispute(["o"], by="bob")
    return scene.away().reasons


@story(Reason.BUDGET_SHORT)
def _() -> tuple[Reason, ...]:
    scene = Scene(budgets={"items": 2})
    scene.covered()
    scene.fact("k", kind="interface_constraint")
    return scene.away().reasons


@story(Reason.NOTHING_OWED)
def _() -> tuple[Reason, ...]:
    scene = Scene(returns={"fill": "block"})
    scene.fact("h")
    return scene.away().reasons


@story(Reason.NOT_EXAMINED)
def _() -> tuple[Reason, ...]:
    scene = Scene(returns={"examination": "required"})
    scene.covered()
    return scene.away().reasons


@story(Reason.CLOCK_SKEW)
def _() -> tuple[Reason, ...]:
    scene = Scene(returns={"max_clock_skew": 60})
    scene.covered()
    scene.depart()
    scene.wait(-HOUR)
    return scene.come_back().reasons


@story(Reason.CHECKPOINT_ALTERED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    scene.depart()
    # Appended past every check: it does not fit the log.
    [left] = scene.team._desk.log.agents()
    other = replace(left, id="altered", digest="0" * 64)
    scene.team._desk.log.append([draft(EventKind.DEPART, other, id="altered", by="ann", at=scene.now)], now=scene.now)
    outcome: Return = scene.ann().come_back(checkpoint="altered")
    return outcome.reasons


@story(Reason.LOG_ALTERED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.sql("DELETE FROM audience WHERE epoch = (SELECT max(epoch) FROM audience)")
    return scene.come_back().reasons


class Broken:
    """A signer that is down."""

    keyid = "0" * 64
    public = bytes(32)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def sign(self, data: bytes) -> bytes:
        raise self.error


@story(Reason.SIGNER_FAILED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    scene.team._desk.keys.signer = lambda: Broken(SealError("down"))  # type: ignore[method-assign]
    return scene.away().reasons


@story(Reason.INTERNAL_ERROR)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    scene.depart()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("readmit.returning.desk.decide", lambda *_: 1 / 0)
        return scene.come_back().reasons


# Exposure.


def refused(scene: Scene, now: datetime | None = None, role: str = "planner") -> tuple[Reason, ...]:
    assert scene.outcome is not None
    assert scene.outcome.admitted, scene.outcome.reasons
    asker = Asker(scene.ann(role).identity, scene.outcome.request.instance, scene.team.admin.policy, now or scene.now)
    with pytest.raises(ExposureError) as caught:
        expose(scene.team._desk.log, scene.outcome.id, lambda: asker)
    return caught.value.reasons


def issued() -> Scene:
    scene = Scene()
    scene.covered()
    scene.away()
    return scene


@story(Reason.SIGNATURE_INVALID)
def _() -> tuple[Reason, ...]:
    scene = issued()
    stolen, keys = scene.team._desk.keys.signer().keyid, scene.team.as_owner().admin.keys
    keys.rotate()
    keys.revoke(stolen, reason="stolen")
    return refused(scene)


@story(Reason.BINDING_MISMATCH)
def _() -> tuple[Reason, ...]:
    return refused(issued(), role="guest")


@story(Reason.VIEW_EXPIRED)
def _() -> tuple[Reason, ...]:
    scene = issued()
    return refused(scene, scene.now + HOUR)


@story(Reason.VIEW_CONSUMED)
def _() -> tuple[Reason, ...]:
    scene = issued()
    assert scene.outcome is not None
    scene.outcome.expose()
    scene.outcome.acknowledge()
    return refused(scene)


@story(Reason.VIEW_REPLACED)
def _() -> tuple[Reason, ...]:
    scene = issued()
    scene.ann().come_back()
    return refused(scene)


@story(Reason.VIEW_CONSUMED)
def _() -> tuple[Reason, ...]:
    scene = issued()
    scene.depart()
    return refused(scene)


@story(Reason.EPOCH_AHEAD)
def _() -> tuple[Reason, ...]:
    scene = issued()
    assert scene.outcome is not None
    scene.team.admin.keys.handed_over.raise_to(scene.team.epoch + 3)
    with pytest.raises(ExposureError) as refusal:
        scene.outcome.expose()
    return refusal.value.reasons


@story(Reason.VIEW_OUTDATED)
def _() -> tuple[Reason, ...]:
    scene = issued()
    scene.team.revoke("h", by="bob")
    return refused(scene)


@story(Reason.VIEW_OUTDATED)
def _() -> tuple[Reason, ...]:
    scene = Scene()
    scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.revoke("x", by="bob")
    scene.come_back()
    scene.team.admin.overrule("x", reason="checked", by="boss", expires=scene.now + HOUR)
    return refused(scene)


@story(Reason.VIEW_OUTDATED)
def _() -> tuple[Reason, ...]:
    scene = issued()
    scene.duty("o2", required=("another",))
    return refused(scene)


# Experiences.


def experience(bound_to: str, **policy: Any) -> tuple[Reason, ...]:
    scene = Scene(**policy)
    scene.covered()
    scene.fact("aside")
    scene.ann().remember("late check-in", bound_to=bound_to)
    return tuple(note.reason for note in scene.away().decision.experiences)


@story(Reason.SOURCE_IN_VIEW)
def _() -> tuple[Reason, ...]:
    return experience("h")


@story(Reason.SOURCE_NOT_IN_VIEW)
def _() -> tuple[Reason, ...]:
    return experience("aside")


@story(Reason.TOO_LARGE)
def _() -> tuple[Reason, ...]:
    return experience("h", budgets={"experiences": 0})


@pytest.mark.parametrize(("reason", "happens"), STORIES, ids=[str(reason) for reason, _ in STORIES])
def test_the_story_ends_with_its_reason(reason: Reason, happens: Callable[[], tuple[Reason, ...]]) -> None:
    reasons = happens()
    assert reason in reasons
    if reason.state is not None:
        assert state_of(reasons) is reason.state


def test_every_reason_has_a_story() -> None:
    assert {str(reason) for reason in Reason} - {str(reason) for reason, _ in STORIES} == ELSEWHERE


def test_every_reason_is_documented_in_a_sentence() -> None:
    for reason in Reason:
        assert reason.doc[0].isupper()
        assert reason.doc.endswith(".")
    assert len({reason.doc for reason in Reason}) == len(Reason)


def test_there_are_no_more_reasons_and_states_than_a_person_can_learn() -> None:
    assert (len(Reason), len(State), len(DutyState)) <= (55, 15, 12)


def test_precedence_names_every_state_once() -> None:
    assert sorted(PRECEDENCE) == sorted(State)
    assert {reason.state for reason in Reason if reason.state} == set(State)


def test_of_two_reasons_the_state_of_the_first_in_precedence_counts() -> None:
    judging = [reason for reason in Reason if reason.state is not None]
    for one, other in itertools.permutations(judging, 2):
        expected = min((one.state, other.state), key=PRECEDENCE.index)
        assert state_of((one, other)) is expected
