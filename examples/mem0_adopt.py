"""Put readmit in front of a Mem0 store that is already in use.

Run it with ``python examples/mem0_adopt.py``. It needs ``pip install 'readmit[mem0]'`` and no network: texts are kept
as they are, and a lexical embedder stands in for yours.

The store was filled before readmit was added, so the sources of its records are unknown. Adopting is an explicit step:
someone who knows claims the items that a record may come from. A claim is not proof. It binds conservatively and holds
only for the record's current text; unclaimed records stay out.
"""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

from readmit import Policy, Workspace
from readmit.backends import Mem0
from readmit.memory import Memory
from readmit.models import Lexical

logging.disable(logging.WARNING)  # mem0 warns about optional packages that are missing

# What the team's Mem0 already holds.
BEFORE = {
    "hotel": "The Sunrise Hotel is booked for the family.",
    "train": "The train leaves at 9:00 from the main station.",
    "quiet": "The family wants a quiet room.",
    "rumor": "Somebody said the pool is closed.",
}
QUESTIONS = ("Which hotel is booked?", "When does the train leave?", "What does the family want?", "pool")


def main() -> None:
    """Fill, adopt, leave, come back."""
    with (
        TemporaryDirectory() as folder,
        Workspace.open(
            Path(folder) / "trip.db",
            name="trip",
            policy=Policy(returns={"fill": "always"}, budgets={"items": 100}),
            keys=Path(folder, "keys"),
        ) as trip,
    ):
        store = Mem0.open(Path(folder) / "mem0", workspace="trip", embedder=Lexical())
        records = fill(store)

        print("1. The store, as it was before readmit:")
        memory = Memory(trip, store)
        for record, sources in memory.records():
            print(f"   {record.text}  sources: {len(sources) or 'unknown'}")

        # The work state that the team can prove, with its observations.
        said = {
            "hotel": trip.observe("Sunrise confirms the reservation.", by="A2"),
            "train": trip.observe("Timetable: 9:00.", by="A4"),
            "quiet": trip.observe("The family asks for a quiet room.", by="A1"),
        }
        h0 = trip.record("Sunrise is booked.", slot="hotel", sources=[said["hotel"]], by="A2")
        t0 = trip.record("The train leaves at 9:00.", slot="train", sources=[said["train"]], by="A4")
        c0 = trip.record("A quiet room is required.", sources=[said["quiet"]], by="A1")

        claims = {records["hotel"]: [h0], records["train"]: [t0], records["quiet"]: [c0]}
        adoption = memory.adopt(claims, by="A1")
        print(f"\n2. Adopted: {len(adoption.bound)} records, each bound conservatively. Cannot be proved:")
        for name in adoption.unproven:
            print(f"   {text_of(memory, name)}")

        planner = trip.agent("A1", role="planner", task="itinerary")
        planner.depart()
        cancelled = trip.observe("Sunrise cancels. Riverside is booked instead.", by="A2")
        h1 = trip.record("Riverside is booked.", slot="hotel", sources=[cancelled], by="A2")
        memory.form("The Riverside Hotel is booked instead.", sources=[h1], by="A2", verbatim=True)

        returned = planner.come_back()
        handle = memory.returned(returned.expose())
        print("\n3. The planner comes back. What Mem0 alone would hand over, and what comes through the view:")
        for question in QUESTIONS:
            print(f"   {question}")
            print(f"     mem0:    {[hit.text for hit in store.search(question, limit=2)]}")
            print(f"     readmit: {[hit.text for hit in handle.search(question, limit=2)]}")

        print("\n4. Why, for the operator:")
        for one in memory.review(returned.id):
            print(f"   {one.state:10} {', '.join(one.reasons):33} {text_of(memory, one.record)}")
        memory.close()


def fill(store: Mem0) -> dict[str, str]:
    """What another program stored earlier with mem0's own API."""
    made = {}
    for name, text in BEFORE.items():
        answer = store.native.add(text, user_id="trip", infer=False)
        made[name] = answer["results"][0]["id"]
    return made


def text_of(memory: Memory, record: str) -> str:
    """A record's text, for printing."""
    return next(one.text for one, _ in memory.records() if one.id == record)


if __name__ == "__main__":
    main()
