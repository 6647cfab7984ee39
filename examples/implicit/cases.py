"""The three STALE-style cases of the paper's appendix in our words: one that works, and both counterexamples.

What the models answer is in ``answers.jsonl``, written by hand in the form of a batch's output, so the cases run
offline. ``python examples/implicit/record.py`` rewrites that file, which a new version of a prompt requires.
"""

from __future__ import annotations

from dataclasses import dataclass

from readmit.inference import Turn


def said(*words: str) -> tuple[Turn, ...]:
    """A conversation: the user and the assistant in turn."""
    return tuple(Turn("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(words))


@dataclass(frozen=True)
class Case:
    """Before departure, during the absence, and what the agent comes back to."""

    name: str
    title: str
    before: tuple[Turn, ...]
    absence: tuple[tuple[Turn, ...], ...]
    question: str


SMALL_TALK = said(
    "I bought new running shoes today, the blue ones.",
    "Enjoy them! Shall I look for routes near you?",
)

BOOKSTORE = Case(
    name="bookstore",
    title="A late shift changes a nightly commitment",
    before=said(
        "I am consistently asleep by 10:30 p.m. Please plan a screen-free wind-down routine that ends then.",
        "Start at nine: dim the lights, stretch, read on paper, lights out at 10:30.",
    ),
    absence=(
        SMALL_TALK,
        said(
            "I started the evening shift at a bookstore. After closing duties the last bus brings me home around 12:30 "
            "or 1:00 a.m.",
            "Congratulations on the job. Do you want the bus times?",
        ),
    ),
    question=(
        "My landlord takes $100 off the rent if I lock the courtyard gate by hand at exactly 10:15 p.m. every night. "
        "Should I sign?"
    ),
)

MISSED = Case(
    name="missed",
    title="Counterexample A: an unrecognized change leaves an old preference active",
    before=said(
        "I prefer familiar destinations and predictable outings; surprises spoil a day for me.",
        "Noted: known places, clear plans.",
    ),
    absence=(
        said(
            "Lately I wander through neighborhoods I don't know, without a list or a backup plan. Last week I tried a "
            "restaurant I had never heard of.",
            "That sounds fun. What did you eat?",
        ),
    ),
    question=(
        "My cousin wants to buy tickets for a six-hour guided tour with a fixed route, a minute-by-minute schedule and "
        "no way to leave the group. Should I say yes?"
    ),
)

ABSTAINED = Case(
    name="abstained",
    title="Counterexample B: the update is admitted, but the answer abstains",
    before=said(
        "My whole workflow runs on my own connected devices: laptop, phone and watch, always in sync.",
        "Then shared clipboards and handoff will save you time.",
    ),
    absence=(
        said(
            "I stopped carrying personal hardware. I use whichever loaner tablet is free at the office or at my "
            "sister's place.",
            "Make sure to sign out of your accounts on shared devices.",
        ),
    ),
    question=(
        "My productivity suite offers a perpetual license for $150, strictly bound to one machine's hardware ID. Do "
        "the savings justify switching?"
    ),
)

CASES = (BOOKSTORE, MISSED, ABSTAINED)
