"""A store of two workspaces: a trip with everything that the inspector shows, and a team that never meets it."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from readmit.errors import RateError
from readmit.types import Drafted
from tests.pages.stories import HOSTILE
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "what only the other team knows"


def furnish(path: Path | str) -> None:
    """Write both workspaces into a new file."""
    trip(path)
    other = Scene(path, name="other")
    other.fact("x", text=SECRET)
    other.team.close()


def trip(path: Path | str) -> None:
    """Ann is away while the hotel changes, returns, is blocked, and is admitted later. Carl stays away."""
    evidence = {"overseers": ("boss",), "drafts": "confirm"}
    scene = Scene(path, name="trip", evidence=evidence, limits={"invalidations": 3})
    team = scene.team
    scene.duty("o_trip", ("hotel", "pickup"), critical=("hotel",), task="trip")
    scene.fact("h0", slot="hotel", text="Sunrise Hotel is booked.", task="trip")
    scene.fact("p0", slot="pickup", text="Pickup is at 8:00 at Sunrise Hotel.", depends_on=["h0"], task="trip")
    scene.fact("taxi", text="A taxi of six seats comes to the pickup.", depends_on=["p0"], task="trip")
    scene.fact("weather", text="The garden is dry on Friday.", supports=["picnic"], task="trip")
    scene.fact("music", text="A band plays in the evening.", task="trip")
    team.agent("carl", role="driver", task="trip").depart()
    scene.depart()
    scene.wait(HOUR)
    confirmed = scene.news("Riverside Hotel confirms three nights.")
    scene.fact(
        "h1", slot="hotel", text="Riverside Hotel is booked, for three nights.", task="trip", sources=[confirmed]
    )
    flooded = scene.news("The garden will be flooded on Friday.")
    scene.verdict(
        "weather", flooded, premise="The garden stays dry.", item_quote="dry on Friday", evidence_quote="flooded"
    )
    scene.come_back()
    scene.wait(HOUR)
    scene.fact(
        "p1", slot="pickup", text="Pickup is at 8:30 at Riverside Hotel.", task="trip", depends_on=["h1"],
        sources=[scene.news("The driver moves the pickup to 8:30.")],
    )  # fmt: skip
    scene.come_back().expose()
    scene.fact("m0", text="The museum opens at nine.", task="trip")
    scene.fact("m1", text="The museum opens at ten.", task="trip", sources=[scene.news("Open from ten.")])
    team.dispute(["m0", "m1"], by="bob", id="q_museum", reason="Two times on two signs.")
    spoken = scene.news("The river path is closed on Friday.")
    scene.fact(
        "path", text="The river path is closed on Friday.", sources=[spoken], task="trip",
        drafted=Drafted(model="m", quote="The river path is closed on Friday."),
    )  # fmt: skip
    until = scene.now + timedelta(days=400)
    scene.fact("pass", slot="pass", text="The river pass is valid.", task="trip", valid_until=until)
    scene.wait(HOUR)
    new_pass = scene.news("The new pass is valid for the year after.")
    scene.fact("pass_2", slot="pass", text="The new pass is valid.", task="trip", valid_from=until, sources=[new_pass])
    scene.fact("evil", text=HOSTILE, slot="<b>slot</b>", task="trip", sources=[scene.news(HOSTILE)])
    for number in range(4):
        scene.fact(f"n{number}", task="trip")
        with pytest.raises(RateError) if number == 3 else nullcontext():
            team.revoke(f"n{number}", by="eve")
    team.close()
