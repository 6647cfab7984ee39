from __future__ import annotations

from readmit.lab import open_pairs, propose
from readmit.records.snapshot import Held, Sighting
from readmit.rules.invalidate.propose import DeclaredPremises, SameSlot, observations_of, targets_of
from readmit.types import Fact, Item, Obligation, Receipt, Scope
from tests.scene import START

SCOPE = Scope(workspace="w")


def held(item: Item, epoch: int) -> Held:
    return Held(item=item, digest="0" * 64, epoch=epoch)


def fact(name: str, *, slot: str | None = None, on: tuple[str, ...] = (), seen: str = "", **more: object) -> Fact:
    receipts = (Receipt(evidence=seen),) if seen else ()
    return Fact(id=name, text=name, by="A", scope=SCOPE, slot=slot, depends_on=on, **{"receipts": receipts} | more)  # type: ignore[arg-type]


def test_premises_are_followed_to_the_end_and_circles_end() -> None:
    known = {
        entry.item.id: entry
        for entry in (
            held(fact("c", slot="flight.date", on=("a",)), 0),
            held(fact("b", on=("c", "unseen")), 1),
            held(fact("a", slot="hotel", on=("b",), seen="e1"), 2),
        )
    }
    (target,) = targets_of([known["a"]], known, critical=set())
    assert target.premises == {"a", "b", "c", "unseen"}
    assert target.premise_slots == {"hotel", "flight.date"}
    assert (target.epoch, target.covers, target.sources) == (2, {"hotel"}, {"e1"})


def test_critical_items_support_a_critical_dependency() -> None:
    duty = Obligation(id="o", text="o", by="A", scope=SCOPE, required=("d", "k"), critical=("k",))
    entries = [held(duty, 0), held(fact("vital", supports=("k",)), 1), held(fact("plain", supports=("d",)), 2)]
    assert {target.item: target.critical for target in targets_of(entries)} == {
        "o": False,
        "vital": True,
        "plain": False,
    }
    assert targets_of(entries[2:], critical={"d"})[0].critical


def test_what_stands_in_a_slot_supports_its_name() -> None:
    entries = [held(fact("vital", slot="hotel"), 1), held(fact("plain", slot="train"), 2)]
    assert [target.critical for target in targets_of(entries, critical={"hotel"})] == [True, False]


def test_observations_know_what_receipts_bind_to_them() -> None:
    entries = [
        held(fact("x", slot="hotel", receipts=(Receipt(evidence="e1"), Receipt(evidence="e2", binds=("p",)))), 1)
    ]
    sightings = {
        "e1": Sighting(epoch=1, by="A", intact=True, body=b"", moment=START.isoformat()),
        "e2": Sighting(epoch=2, by="A", intact=True, body=b"", moment=START.isoformat()),
        "e3": Sighting(epoch=3, by="A", intact=True, body=b"", moment=START.isoformat()),
        "altered": Sighting(epoch=4, by="A", intact=False, body=b"", moment=START.isoformat()),
    }
    found = {seen.evidence: (seen.epoch, seen.covers, seen.about) for seen in observations_of(sightings, entries)}
    assert found == {"e1": (1, {"hotel"}, {"x"}), "e2": (2, set(), {"p"}), "e3": (3, set(), set())}


def test_a_changed_flight_is_proposed_against_the_transfer_that_rests_on_it() -> None:
    flight = held(fact("flight", slot="flight.date", seen="booked"), 1)
    transfer = held(fact("transfer", slot="transfer", on=("flight",), seen="ordered"), 2)
    moved = held(fact("flight2", slot="flight.date", seen="moved"), 5)
    sightings = {
        name: Sighting(epoch=epoch, by="A", intact=True, body=b"", moment=START.isoformat())
        for name, epoch in {"booked": 1, "ordered": 2, "moved": 4, "weather": 6}.items()
    }
    entries = [flight, transfer, moved]
    openings = open_pairs(targets_of(entries), observations_of(sightings, entries))
    found = propose(openings, [DeclaredPremises(), SameSlot()])
    assert [(p.pair.item, p.pair.evidence, [str(s) for s in p.signals]) for p in found.kept] == [
        ("flight", "moved", ["same_slot"]),
        ("transfer", "moved", ["declared_premise"]),
    ]
