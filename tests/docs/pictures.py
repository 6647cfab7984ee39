"""The pictures of the documentation. ``python -m tests.docs.pictures`` redraws them into ``docs/pictures``."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.docs.drawing import Picture
from tests.docs.imports import draw_imports
from tests.docs.session_pictures import draw_recording, draw_session

FOLDER = ROOT / "docs" / "pictures"


def place() -> str:
    """Where readmit stands."""
    picture = Picture(
        760, 250, "Where readmit stands",
        "Teammates write events to the workspace's log. The memory store forms and ranks memories as before. "
        "A returning agent reads both only through a signed view that readmit hands over.",
    )  # fmt: skip
    picture.box(20, 20, 190, 60, ["Teammates", "observe, record, revoke"])
    picture.box(20, 170, 190, 60, ["Memory store", "Mem0, LangGraph, …"])
    picture.box(300, 20, 180, 60, ["Log", "append-only, signed heads"])
    picture.box(300, 135, 180, 95, ["readmit", "what still holds?", "is it enough?", "sign, hand over"], "blue")
    picture.box(570, 150, 170, 65, ["Returning agent", "acts on the view"], "green")
    picture.arrow((210, 50), (298, 50))
    picture.arrow((390, 80), (390, 133))
    picture.arrow((210, 200), (298, 200))
    picture.arrow((480, 183), (568, 183), look="green")
    picture.text(524, 173, "view", "small green")
    picture.arrow((210, 185), (255, 185), (255, 110), (655, 110), (655, 148), look="red")
    picture.text(560, 100, "not past readmit", "small red")
    return picture.svg()


def stages() -> str:
    """A return from departure to exposure."""
    picture = Picture(
        900, 300, "The stages of a return",
        "The checkpoint of the departure and the events since are captured as one state. Invalidation, gates and cover "
        "each leave items out, with a reason. What is left is sealed and checked again when it is exposed.",
    )  # fmt: skip
    names = [
        ("capture", ["checkpoint", "+ events since"], []),
        ("invalidate", ["what replaced", "or ended it?"], ["superseded", "revoked, expired", "premise changed"]),
        ("gate", ["may this agent,", "here, now?"], ["unauthorized", "not applicable", "unproven"]),
        ("cover", ["small set that", "meets the duties"], ["not needed", "withheld"]),
        ("seal", ["sign the view", "or what is missing"], []),
        ("readmission", ["check again,", "hand over"], ["refused if anything", "changed meanwhile"]),
    ]
    for number, (name, inside, out) in enumerate(names):
        x = 15 + number * 148
        picture.box(x, 40, 125, 90, [name, *inside], "green" if number == 5 else "blue")
        if number < 5:
            picture.arrow((x + 125, 85), (x + 146, 85))
        if out:
            picture.arrow((x + 62, 130), (x + 62, 185), look="red")
            for line, words in enumerate(out):
                picture.text(x + 62, 205 + line * 17, words, "small red")
    picture.text(450, 22, "every item, in or out, has a reason on record", "small")
    picture.text(450, 285, "left out, with the reason, in the audit", "small red")
    return picture.svg()


def slot() -> str:
    """What stands in a slot over time, and what rests on it."""
    picture = Picture(
        820, 290, "A slot over time",
        "The slot hotel holds h0 until h1, from later evidence, replaces it during the absence. The pickup p0 rests on "
        "h0 and falls with it. It lacks until p1 is recorded from new evidence.",
    )  # fmt: skip
    picture.text(60, 85, "slot hotel", "bold")
    picture.text(60, 165, "slot pickup", "bold")
    picture.box(120, 55, 290, 50, ["h0  Sunrise is booked"], "red")
    picture.box(410, 55, 390, 50, ["h1  Riverside is booked"], "green")
    picture.box(120, 135, 290, 50, ["p0  Pickup at 8:00 at the hotel"], "red")
    picture.box(560, 135, 240, 50, ["p1  Pickup at 8:30"], "green")
    picture.arrow((200, 135), (200, 107))
    picture.text(265, 125, "p0 rests on h0", "small")
    picture.text(485, 165, "nothing stands", "small red")
    picture.arrow((120, 225), (800, 225))
    for x, words in ((250, "departure"), (410, "Sunrise cancels"), (490, "return: blocked"), (650, "return: admitted")):
        picture.arrow((x, 219), (x, 231), head=False)
        picture.text(x, 250 if x != 490 else 272, words, "small")
    return picture.svg()


def duty() -> str:
    """How duties, needs and items hang together."""
    picture = Picture(
        820, 330, "Duties, needs and items",
        "A duty requires needs. A need is met by the item that stands in the slot of that name, or by items that "
        "support it. Coverage counts duties, criticality counts critical needs.",
    )  # fmt: skip
    picture.text(120, 24, "duties", "bold")
    picture.text(400, 24, "needs", "bold")
    picture.text(685, 24, "items", "bold")
    picture.box(20, 45, 200, 70, ["o_h", "Prepare the hotel details"], "green")
    picture.box(20, 190, 200, 70, ["o_t", "Prepare the transfer"], "red")
    picture.box(310, 45, 180, 50, ["hotel", "critical: a slot"], "green")
    picture.box(310, 135, 180, 50, ["d_budget", "a named dependency"], "green")
    picture.box(310, 225, 180, 50, ["pickup", "critical: a slot"], "red")
    picture.box(580, 45, 210, 50, ["h1", "stands in slot hotel"], "green")
    picture.box(580, 135, 210, 50, ["b3", "supports d_budget"], "green")
    picture.box(580, 225, 210, 50, ["p0", "premise changed: out"], "red")
    picture.arrow((220, 70), (308, 70))
    picture.arrow((220, 210), (265, 210), (265, 160), (308, 160))
    picture.arrow((220, 240), (308, 250))
    picture.arrow((580, 70), (492, 70), look="green")
    picture.arrow((580, 160), (492, 160), look="green")
    picture.arrow((580, 250), (492, 250), look="red")
    picture.text(
        410, 312, "Cov = 1 of 2 duties · Crit = 1 of 2 critical needs · blocked, or with partial: o_h alone", "small"
    )
    return picture.svg()


def deployment() -> str:
    """Processes, store, keys and who may read them."""
    picture = Picture(
        820, 300, "A deployment",
        "Writers and the admitting process share one store. Only the admitting process reads the signing keys. "
        "A verifier elsewhere holds the public key and a kept head.",
    )  # fmt: skip
    picture.box(20, 30, 180, 60, ["Writers", "agents, tools, people"])
    picture.box(20, 190, 180, 70, ["Admitting process", "come_back, expose"], "blue")
    picture.box(320, 30, 190, 60, ["Store", "SQLite or PostgreSQL"])
    picture.box(320, 190, 190, 70, ["Signing keys", "folder, mode 0700"], "blue")
    picture.box(610, 30, 190, 60, ["Verifier", "public key, kept head"])
    picture.box(610, 190, 190, 70, ["Returning agent", "gets the bundle"], "green")
    picture.arrow((200, 60), (318, 60))
    picture.arrow((160, 190), (160, 130), (370, 130), (370, 92))
    picture.arrow((200, 225), (318, 225))
    picture.arrow((610, 60), (512, 60))
    picture.text(561, 50, "reads", "small")
    picture.arrow((110, 260), (110, 285), (705, 285), (705, 262), look="green")
    picture.text(415, 279, "signed view", "small green")
    return picture.svg()


PICTURES = {
    "place": place,
    "stages": stages,
    "slot": slot,
    "duty": duty,
    "deployment": deployment,
    "imports": draw_imports,
    "session": draw_session,
    "recording": draw_recording,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
