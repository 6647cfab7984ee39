"""Same inputs, same bytes: in another process, with another hash seed, whatever order a mapping was built in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.lab import canonical, digest
from readmit.records.canonical import digest_of_set
from readmit.types import Fact, Scope
from tests.records.samples import PAYLOAD_SAMPLES

if TYPE_CHECKING:
    from readmit.events import DeclaredKind

# The profile: no floats, integers below 2**53, ASCII keys, any text that UTF-8 can carry.
# The largest integer that every JSON reader keeps exact.
LARGEST_INTEGER = 2**53 - 1
texts = st.text(st.characters(exclude_categories=["Cs"]))
keys = st.text(st.characters(min_codepoint=1, max_codepoint=126))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner),
    max_leaves=20,
)


@given(values)
@settings(max_examples=300)
def test_canonical_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("kind", PAYLOAD_SAMPLES, ids=str)
def test_every_record_keeps_to_the_profile(kind: DeclaredKind) -> None:
    for sample in PAYLOAD_SAMPLES[kind]:
        assert canonical(sample) == rfc8785.dumps(msgspec.json.decode(canonical(sample)))


@given(st.data())
@settings(max_examples=100)
def test_the_order_in_which_fields_arrive_does_not_matter(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(PAYLOAD_SAMPLES)))
    plain = msgspec.json.decode(canonical(data.draw(st.sampled_from(PAYLOAD_SAMPLES[kind]))))
    shuffled = _shuffled(plain, data)
    decoded = msgspec.json.decode(json.dumps(shuffled), type=kind.payload)
    assert canonical(decoded) == canonical(msgspec.json.decode(json.dumps(plain), type=kind.payload))


def _shuffled(value: Any, data: st.DataObject) -> Any:
    if isinstance(value, dict):
        order = data.draw(st.permutations(list(value)))
        return {key: _shuffled(value[key], data) for key in order}
    return [_shuffled(one, data) for one in value] if isinstance(value, list) else value


def test_equal_moments_have_equal_bytes() -> None:
    item = Fact(id="a", text="t", by="w", scope=Scope(workspace="w"))
    assert digest(item) == digest(Fact(scope=Scope(workspace="w"), by="w", text="t", id="a"))
    assert b"0.5" in canonical(Decimal("0.5"))


def test_a_set_of_digests_knows_its_order_and_its_size() -> None:
    one, two = digest("one"), digest("two")
    assert len({digest_of_set(each) for each in ([one, two], [two, one], [one], [two], [], [one, two, two])}) == 6


SCRIPT = """
import hashlib, itertools, json, sys
from datetime import datetime, timedelta, UTC
import readmit.records.acts.draft as draft
import readmit.workspace.agent as agent
from readmit import Policy, Workspace

numbers = itertools.count()
agent.secrets.token_hex = lambda size: f"{next(numbers):0{size * 2}x}"
salts = itertools.count()
draft.new_salt = lambda: next(salts).to_bytes(16, "big")
moment = datetime(2026, 3, 1, tzinfo=UTC)
rules = Policy(returns={"fill": "always"}, evidence={"overseers": ("boss",)})
team = Workspace.open(policy=rules, clock=lambda: moment)
source = team.observe("all confirmed", by="bob")

for n in range(40):
    fields = {"slot": f"s{n % 7}", "supports": [f"d{n % 5}"]} if n % 3 else {"roles": ["planner", "booker"]}
    rests_on = [f"n{n - 7}"] if n > 30 else []
    team.record(f"statement {n}", id=f"n{n}", sources=[source], by="bob", depends_on=rests_on, **fields)
team.oblige("do it", id="o", required=["d1", "d2", "d4"], critical=["d1"], sources=[source], by="bob")
planner = team.agent("ann", role="planner", task="trip")
planner.depart(id="left")
team.revoke("n4", by="bob", id="gone")
team.dispute(["n5", "n6"], by="bob", id="quarrel")
outcome = planner.come_back(id="back")
rows = [row.body.decode() for row in team.admin.log.audit.rows()]
print(hashlib.sha256(json.dumps(rows).encode()).hexdigest(), outcome.kind, len(rows))
print(outcome.expose().json())
"""


def test_two_processes_with_different_hash_seeds_agree_on_every_byte() -> None:
    answers = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "424242")
    ]
    assert len(set(answers)) == 1
    assert "admitted" in answers[0]


def test_moments_are_written_in_utc() -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert canonical(moment) == b'"2026-03-01T12:00:00Z"'
