"""A source that changed between observation and return never reaches a view as current."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Reason, Workspace
from readmit.errors import ExposureError
from readmit.sources import File
from tests.board import Team
from tests.conftest import examples
from tests.scene import Clock

LIFETIMES = (1, 30, 60, 600)


@settings(max_examples=examples(60))
@given(
    changes=st.lists(st.sampled_from(["Sunrise.", "Riverside.", "", None]), min_size=5, max_size=5),
    waits=st.lists(st.integers(0, 900), min_size=5, max_size=5),
    lifetime=st.sampled_from(LIFETIMES),
    critical=st.booleans(),
)
def test_what_a_view_holds_was_true_within_the_lifetime_of_its_source(
    changes: list[str | None], waits: list[int], lifetime: int, critical: bool
) -> None:
    """After each step the note may change, be taken down (empty) or be out of sight (None), and time passes."""
    team = Team(looks={"total_seconds": 1, "lifetime": 60})
    history: list[tuple[datetime, str | None]] = []

    def after(step: int) -> None:
        change = changes[step]
        if change == "":
            team.board.notes.pop("hotel", None)
        else:
            team.board.notes["hotel"] = change
        history.append((team.clock.now, change))
        team.clock.now += timedelta(seconds=waits[step])

    source = team.note("hotel", "Sunrise.", lifetime=lifetime)
    observed = team.clock.now
    history.append((observed, "Sunrise."))
    after(0)
    team.fact("h0", "Sunrise", source, slot="hotel")
    after(1)
    team.duty("hotel", critical=["hotel"] if critical else [])
    team.ann.depart()
    after(2)
    decided = team.clock.now
    back = team.back()
    if "h0" in back.items:
        # It said so at some moment within its lifetime, or it could not be seen and nothing critical needs it.
        since = decided - timedelta(seconds=max(lifetime, 0))
        true_then = [
            text == "Sunrise."
            for n, (at, text) in enumerate(history)
            if (history[n + 1][0] if n + 1 < len(history) else decided) >= since and at <= decided
        ]
        [fate] = [one for one in back.dispositions if one.item == "h0"]
        assert any(true_then) or (fate.unseen and not critical)
        assert not (critical and fate.unseen)
    else:
        [fate] = [one for one in back.dispositions if one.item == "h0"]
        assert set(fate.reasons) <= {Reason.SOURCE_CHANGED, Reason.SOURCE_UNSEEN}
    after(3)
    looked = list(team.board.looks)
    if back.admitted:
        with suppress(ExposureError):
            back.expose()
    assert team.board.looks == looked, "an exposure looks at nothing"
    assert team.team.returned(back.id).replay().matches


@settings(max_examples=examples(25))
@given(
    texts=st.lists(st.sampled_from(["The port is 80.\n", "The port is 81.\n", None]), min_size=3, max_size=3),
    waits=st.lists(st.integers(0, 100_000), min_size=3, max_size=3),
)
def test_a_file_without_a_stated_lifetime_is_never_handed_over_stale(texts: list[str | None], waits: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock, file = Clock(), Path(folder, "port.txt")
        file.write_text("The port is 80.\n", encoding="utf-8")
        with Workspace.open(Path(folder, "team.db"), clock=clock) as team:
            seen = team.observe(probe=File("port.txt"), by="bob")
            agent = team.agent("ann", role="developer", task="client")
            for step, (text, wait) in enumerate(zip(texts, waits, strict=True)):
                if text is None:
                    file.unlink(missing_ok=True)
                else:
                    file.write_text(text, encoding="utf-8")
                clock.now += timedelta(seconds=wait)
                if step == 0:
                    team.record("The port is 80", id="p", sources=[seen], by="bob")
                elif step == 1:
                    agent.depart()
            assert agent.come_back().items == (("p",) if texts[-1] == "The port is 80.\n" else ())
