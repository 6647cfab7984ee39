"""Every decoder, fuzzed: a mutated record is either still valid or refused with the path of the field."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import DutyState, Pair, Workspace
from readmit.errors import ReadmitError, RecordError
from readmit.events import DeclaredKind, EventKind, Record
from readmit.lab import canonical, decode
from readmit.policies import Policy
from readmit.records.acts.kinds import KINDS
from readmit.records.canonical import checked, convert, decoded
from readmit.records.decisions import Returned
from tests.records.samples import EARLY, HASH, OTHER_SAMPLES, PAYLOAD_SAMPLES, REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES: list[tuple[Any, Any]] = [
    *((kind.payload, one) for kind, found in PAYLOAD_SAMPLES.items() for one in found),
    *((type(one), one) for one in OTHER_SAMPLES),
]
junk: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["", "item", "2026-03-01T09:00:00", "0001-01-01T00:00:00+23:59", "NaN", "1e999999999", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def test_there_is_a_sample_of_every_payload_and_every_kind_of_item() -> None:
    assert set(PAYLOAD_SAMPLES) == set(KINDS.values())
    assert {type(one).__name__ for one in PAYLOAD_SAMPLES[EventKind.RECORD]} == {
        "Fact", "RoleConstraint", "InterfaceConstraint", "Obligation", "Frontier",
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "sample"), SAMPLES, ids=[type(one).__name__ for _, one in SAMPLES])
def test_a_record_survives_the_round_trip(kind: Any, sample: Record) -> None:
    again = decode(canonical(sample), kind, what="sample")
    assert again == sample
    assert canonical(again) == canonical(sample)
    assert checked(sample, what="sample") == sample
    assert hash(again) == hash(sample)


@pytest.mark.parametrize(("kind", "sample"), SAMPLES, ids=[type(one).__name__ for _, one in SAMPLES])
def test_an_unknown_field_is_refused_by_its_path(kind: Any, sample: Record) -> None:
    plain = msgspec.json.decode(canonical(sample))
    plain["invented"] = 1
    with pytest.raises(RecordError, match="invented"):
        decode(json.dumps(plain), kind, what="sample")


@given(st.data())
@settings(max_examples=300)
def test_a_mutated_record_is_valid_or_refused_with_a_path(data: st.DataObject) -> None:
    kind, sample = data.draw(st.sampled_from(SAMPLES))
    plain = copy.deepcopy(msgspec.json.decode(canonical(sample)))
    for _ in range(data.draw(st.integers(1, 3))):
        _mutate(plain, data)
    attempts: tuple[Callable[[], Any], ...] = (
        lambda: decode(json.dumps(plain), kind, what="sample"),
        lambda: convert(plain, kind, what="sample"),
    )
    for attempt in attempts:
        message = ""
        try:
            assert isinstance(attempt(), Record)
        except RecordError as error:
            message = str(error)
        # What is wrong at the top is named by the field or the tag; what is no text or no JSON at all lies in no field.
        tag = type(sample).__struct_config__.tag_field or "$"
        fields = (tag, *type(sample).__struct_fields__)
        named = ("$", "field", "Expected `object`", "malformed", "truncated", "codec", *fields)
        assert not message or (message.startswith("sample") and any(hint in message for hint in named)), message


@given(st.binary(max_size=60) | st.text(max_size=60))
@settings(max_examples=200)
def test_anything_at_all_is_refused_properly(data: Any) -> None:
    for kind in (EventKind.RECORD.payload, EventKind.GOVERN.payload):
        with pytest.raises(RecordError, match=r"^sample[.:]"):
            decode(data, kind, what="sample")


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    with pytest.raises(RecordError):
        decode("[" * 100_000, EventKind.RECORD.payload, what="sample")


def _mutate(plain: Any, data: st.DataObject) -> None:
    """Change one thing somewhere inside."""
    holder = plain
    while True:
        spots = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not spots:
            return
        spot = data.draw(st.sampled_from(spots))
        inner = holder[spot]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            holder = inner
            continue
        change = data.draw(st.sampled_from(["replace", "drop", "add", "double"]))
        if change == "drop":
            holder.pop(spot)
        elif change == "add" and isinstance(holder, dict):
            holder[data.draw(st.text(max_size=5))] = data.draw(junk)
        elif change == "double" and isinstance(holder, list):
            holder.append(inner)
        else:
            holder[spot] = data.draw(junk)
        return


@given(st.data())
@settings(max_examples=150)
def test_a_malformed_write_changes_nothing(data: st.DataObject) -> None:
    team = _team()
    kind = data.draw(st.sampled_from(list(PAYLOAD_SAMPLES)))
    plain = copy.deepcopy(msgspec.json.decode(canonical(data.draw(st.sampled_from(PAYLOAD_SAMPLES[kind])))))
    for _ in range(data.draw(st.integers(0, 2))):
        _mutate(plain, data)
    before = team.epoch, _tables(team)
    try:
        team._desk.writer.write(kind, plain, by="bob", id=data.draw(st.sampled_from(["a", "h0", "x", "o", "bad id"])))
    except ReadmitError:
        assert (team.epoch, _tables(team)) == before
    else:
        assert team.epoch == before[0] + 1
    assert len(list(team._desk.log.tail())) == team.epoch
    team.close()


@pytest.mark.parametrize("sample", PAYLOAD_SAMPLES[EventKind.GOVERN])
def test_a_stored_policy_is_what_it_says(sample: Policy) -> None:
    assert EventKind.GOVERN.decode(canonical(sample)) == sample
    returned = Returned(request=msgspec.structs.replace(REQUEST, policy=sample), kind="admitted", decision=HASH)
    assert EventKind.RETURN.decode(canonical(returned)) == returned


def test_a_policy_written_today_takes_todays_defaults_for_what_it_does_not_say() -> None:
    team = _team()
    team.as_owner()._desk.writer.write(EventKind.GOVERN, {"paper": {"gamma": "0.5"}})
    assert team.admin.policy == Policy(paper={"gamma": Decimal("0.5")})
    team.close()


@pytest.mark.parametrize("kind", [EventKind.GOVERN, EventKind.RETURN])
@pytest.mark.parametrize("body", ['"text"', "[]", "{", '{"request": 1}', '{"request": {"policy": 1}}'])
def test_what_is_no_policy_or_return_is_refused(kind: DeclaredKind, body: str) -> None:
    with pytest.raises(RecordError, match=r"^sample[.:]"):
        decoded(body.encode(), kind.decode, what="sample")


def test_the_moment_is_never_earlier_than_what_the_log_has_learnt() -> None:
    assert EARLY.moment == EARLY.now
    assert REQUEST.moment == REQUEST.learnt != REQUEST.now
    ahead = msgspec.structs.replace(REQUEST, now=REQUEST.learnt, learnt=REQUEST.now)
    assert ahead.moment == REQUEST.learnt


def test_every_state_of_a_duty_is_documented_in_a_sentence() -> None:
    for state in DutyState:
        assert state.doc[0].isupper()
        assert state.doc.endswith(".")
    assert len({state.doc for state in DutyState}) == len(DutyState)
    owed = [state for state in DutyState if state.owed]
    assert owed == [DutyState.OWED, DutyState.OVERDUE, DutyState.OBSTRUCTED]


BAD_CALLS: dict[str, Any] = {
    "text is a number": lambda team: team.observe(7, by="bob"),
    "text is empty": lambda team: team.observe("", by="bob"),
    "text cannot be encoded": lambda team: team.observe("\ud800", by="bob"),
    "text is an object": lambda team: team.observe(object(), by="bob"),
    "writer is empty": lambda team: team.observe("t", by=""),
    "source is not a digest": lambda team: team.record("t", by="bob", sources=["nothing"]),
    "id has a space": lambda team: team.record("t", by="bob", id="a b"),
    "unknown field": lambda team: team.record("t", by="bob", color="red"),
    "end before start": lambda team: team.record("t", by="bob", valid_from=_at(5), valid_until=_at(4)),
    "time without zone": lambda team: team.record("t", by="bob", valid_from=_at(5).replace(tzinfo=None)),
    "time out of range": lambda team: team.revoke("m", by="bob", at=_at(0).replace(year=1, month=1, tzinfo=_zone(23))),
    "private to nobody": lambda team: team.record("t", by="bob", private=True),
    "unknown premise": lambda team: team.record("t", by="bob", depends_on=["nothing"]),
    "own premise": lambda team: team.record("t", by="bob", id="own", depends_on=["own"]),
    "critical but not required": lambda team: team.oblige("t", by="bob", required=["a"], critical=["b"]),
    "frontier of a fact": lambda team: team.progress("t", by="bob", obligation="m"),
    "settling a fact": lambda team: team.settle("m", by="bob"),
    "revoking nothing": lambda team: team.revoke("nothing", by="bob"),
    "superseding by nothing": lambda team: team.supersede("m", "nothing", by="bob"),
    "superseding by itself": lambda team: team.supersede("m", "m", by="bob"),
    "disputing nothing": lambda team: team.dispute([], by="bob"),
    "resolving no dispute": lambda team: team.resolve("nothing", by="bob"),
    "verdict on no evidence": lambda team: team.judge(Pair(item="m", evidence="0" * 64), by="bob"),
    "id of other content": lambda team: team.record("another", by="bob", id="m"),
    "someone else's item": lambda team: team.admin.write(
        EventKind.RECORD, PAYLOAD_SAMPLES[EventKind.RECORD][5], by="eve"
    ),
    "an exposure by hand": lambda team: team.admin.write(
        EventKind.EXPOSE, PAYLOAD_SAMPLES[EventKind.EXPOSE][0], by="bob"
    ),
    "departure of another epoch": lambda team: team.agent("ann", role="r", task="t").depart(epoch=10_000),
    "return without departure": lambda team: team.agent("ann", role="r", task="t").come_back(),
    "agent without a role": lambda team: team.agent("ann", role="", task="t"),
    "share above one": lambda team: team.as_owner().admin.write(EventKind.GOVERN, {"paper": {"gamma": "1.5"}}),
    "share not a number": lambda team: team.as_owner().admin.write(EventKind.GOVERN, {"paper": {"gamma": "NaN"}}),
    "view of a million years": lambda team: team.as_owner().admin.write(
        EventKind.GOVERN, {"returns": {"view_seconds": 2**50}}
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_misuse_is_refused_in_words_and_changes_nothing(case: str) -> None:
    team = _team()
    team.record("the first", by="bob", id="m")
    before = team.epoch, _tables(team)
    with pytest.raises(ReadmitError) as caught:
        BAD_CALLS[case](team)
    assert str(caught.value)
    assert (team.epoch, _tables(team)) == before
    team.close()


def _team() -> Workspace:
    return Workspace.open(name="w", clock=lambda: _at(0))


def _tables(team: Workspace) -> dict[str, int]:
    sql = team._desk.log.connection.sql
    names = [name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: sql.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}  # noqa: S608


def _at(hour: int) -> Any:
    from datetime import UTC, datetime

    return datetime(2026, 3, 1, hour, tzinfo=UTC)


def _zone(hours: int) -> Any:
    from datetime import timedelta, timezone

    return timezone(timedelta(hours=hours))


@pytest.mark.parametrize("length", [0, 257])
def test_a_length_is_said_in_characters_whatever_the_script(length: int) -> None:
    with pytest.raises(RecordError, match=r"task: use at (most 256|least 1) characters, in any script"):
        Workspace.open().observe("We travel in May.", by="scout", task="東" * length)
    assert Workspace.open().observe("We travel in May.", by="東" * 256, task="東" * 256)
