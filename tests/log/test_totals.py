"""How much a writer has ended within a window: as many as a plain count says, however long its history is."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from readmit.events import EventKind
from readmit.log.engines.sqlite import SqliteConnection
from readmit.log.log import Log
from readmit.records.acts.draft import draft
from readmit.records.acts.event import Revoke
from readmit.records.acts.operation import Void
from readmit.types import Fact, Scope
from tests.scene import START

if TYPE_CHECKING:
    from readmit.records.acts.draft import Draft

HOURS = st.integers(0, 60)
# Most steps are acts by one writer, so that its totals fill several blocks.
STEPS = st.one_of(st.tuples(st.just("bob"), HOURS), st.tuples(st.just("eve"), HOURS), st.tuples(st.just("void"), HOURS))


def _draft(number: int, who: str, now: Any) -> Draft:
    if who == "void":
        return draft(EventKind.VOID, Void(event=number), id=f"v{number}", by="boss", at=now)
    return draft(EventKind.REVOKE, Revoke(target="m"), id=f"r{number}", by=who, at=now)


@given(st.lists(STEPS, max_size=80), st.lists(HOURS, max_size=5))
def test_a_window_counts_what_was_learnt_in_it_and_a_void_dates_back(
    steps: list[tuple[str, int]], windows: list[int]
) -> None:
    item = Fact(id="m", text="m", by="bob", scope=Scope(workspace="team"))
    counted: dict[str, list[Any]] = {"bob": [], "eve": []}
    with closing(SqliteConnection(":memory:")) as connection:
        log = Log(connection, "team")
        log.append([draft(EventKind.RECORD, item, id="m", by="bob", at=START)], now=START)
        for number, (who, hour) in enumerate(steps, 2):
            now = START + timedelta(hours=hour)
            log.append([_draft(number, who, now)], now=now)
            learnt = log.learnt
            if who == "void":
                counted = {name: [min(one, learnt) for one in moments] for name, moments in counted.items()}
            else:
                counted[who].append(learnt)
        for name, moments in counted.items():
            for hour in windows:
                since = START + timedelta(hours=hour)
                assert log.ended(name, since=since) == sum(one > since for one in moments)


def test_many_acts_in_one_transaction_and_after_it_are_counted_alike() -> None:
    item = Fact(id="m", text="m", by="bob", scope=Scope(workspace="team"))
    with closing(SqliteConnection(":memory:")) as connection:
        log = Log(connection, "team")
        log.append([draft(EventKind.RECORD, item, id="m", by="bob", at=START)], now=START)
        with log.atomic():
            for number in range(100):
                now = START + timedelta(minutes=number)
                log.append([_draft(number, "bob", now)], now=now)
                assert log.ended("bob", since=now - timedelta(minutes=50)) == min(number + 1, 50)
        assert [log.ended("bob", since=START + timedelta(minutes=one)) for one in range(100)] == [*range(99, -1, -1)]
