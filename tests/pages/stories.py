"""Returns and slots that are worth looking at."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "</p></blockquote></script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
    "<svg onload=alert(2)><style>*{display:none}</style><a href='javascript:alert(3)'>here</a> \"' onclick=\"x "
    "&lt;b&gt; url(https://example.org/x) \u202eevil\u202c zero\u200bwidth \x1b[31mred <!-- -->"
)


def chained(path: Path | str | None = None) -> Scene:
    """A premise falls, and a chain and two branches with it; another falls by a verdict."""
    scene = Scene(path)
    scene.duty("o_plan", ("plan", "picnic"), critical=("plan",))
    scene.fact("venue", text="The workshop is in the harbor hall.", slot="venue")
    scene.fact("room", text="The harbor hall seats forty people on the ground floor.", depends_on=["venue"])
    scene.fact("seats", text="Forty places can be offered to guests.", depends_on=["room"], supports=["plan"])
    scene.fact("menu", text="The kitchen of the harbor hall serves lunch at noon.", depends_on=["venue"])
    scene.fact("weather", text="the text of the picnic: it is dry on Friday", supports=["picnic"])
    scene.fact("games", text="Lawn games are set up outside.", depends_on=["weather"])
    scene.depart()
    scene.wait(HOUR)
    scene.team.revoke("venue", by="bob", reason="The harbor hall is closed for repairs.")
    later = scene.news("The hotel garden will be flooded on Friday.")
    scene.verdict(
        "weather",
        later,
        premise="The garden stays dry.",
        item_quote="it is dry on Friday",
        evidence_quote="flooded on Friday",
    )
    scene.wait(HOUR)
    scene.come_back()
    return scene


def partial() -> Scene:
    """One duty is covered whole and the other is not."""
    scene = Scene(returns={"on_incomplete": "partial"})
    scene.duty("o_hotel", ("hotel",), critical=("hotel",))
    scene.duty("o_train", ("train",), critical=("train",))
    scene.fact("h", text="Riverside is booked.", slot="hotel")
    scene.away()
    return scene


def hostile() -> Scene:
    """Every text that somebody else writes is an attack."""
    scene = Scene()
    evidence = scene.team.observe(HOSTILE, by=HOSTILE[:200])
    scene.duty("o", ("d",), critical=("d",))
    scene.fact("\"><script>alert('id')</script>", text=HOSTILE, supports=["d"], sources=[evidence], by=HOSTILE[:200])
    scene.fact("old", text=f"{HOSTILE} old", slot="<b>slot</b>", sources=[evidence])
    scene.fact("rests", text=f"{HOSTILE} rests", depends_on=["old"])
    scene.depart()
    later = scene.team.observe(f"{HOSTILE} later", by="bob")
    scene.team.revoke("old", by="bob", reason=HOSTILE)
    scene.fact("judged", text=HOSTILE)
    scene.verdict("judged", scene.news(f"{HOSTILE} news"), premise=HOSTILE, item_quote="zero", evidence_quote="news")
    scene.fact("new", text=f"{HOSTILE} new", slot="<b>slot</b>", sources=[later])
    scene.come_back()
    return scene


def many(count: int, path: Path | str | None = None) -> Scene:
    """A return with as many candidates, a third of them out for a premise that fell."""
    scene = Scene(path)
    with scene.team.batch():
        scene.duty()
        scene.fact("h", supports=["d"])
        scene.fact("root")
        for number in range(count - 3):
            below = ["root"] if number % 3 == 0 else []
            scene.fact(
                f"n{number}", text=f"Statement {number} about something that the team keeps in mind.", depends_on=below
            )
    scene.depart()
    scene.team.revoke("root", by="bob")
    scene.come_back()
    return scene


def hotel() -> Scene:
    """A slot that is replaced, expires, is claimed without a source and in private, and stands again."""
    scene = Scene()
    scene.fact("h0", slot="hotel", text="Sunrise Hotel is booked.", task="trip")
    scene.wait(HOUR)
    scene.fact(
        "h1", slot="hotel", text="Riverside Hotel is booked.", task="trip", sources=[scene.news("Riverside confirms.")]
    )
    scene.wait(HOUR)
    until = scene.now + timedelta(minutes=30)
    scene.fact(
        "h2",
        slot="hotel",
        text="Harbor Hotel is booked for one night.",
        task="trip",
        sources=[scene.news("Harbor confirms.")],
        valid_until=until,
    )
    scene.fact("rumor", slot="hotel", text="Castle Hotel may be booked.", task="trip", sources=[])
    scene.fact(
        "@carl/hidden",
        slot="hotel",
        text="A room that carl keeps to himself.",
        task="trip",
        principals=["carl"],
        private=True,
        by="carl",
        sources=[scene.news("Carl asks for a room.")],
    )
    scene.wait(HOUR)
    scene.fact(
        "h3",
        slot="hotel",
        text="Castle Hotel is booked for the whole family, with breakfast and a view of the river.",
        task="trip",
        sources=[scene.news("Castle confirms.")],
    )
    return scene
