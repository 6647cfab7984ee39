"""The map under the signed checkpoint: its cache may be smaller than what is read and written through it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from readmit import Workspace
from readmit.log.tree import state_map as statemap
from readmit.log.tree.state_map import EMPTY, StateMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

KEYS = st.integers(0, 400).map(lambda number: f"k{number:03}")
VALUES = st.binary(min_size=1, max_size=4)
WRITES = st.dictionaries(KEYS, VALUES, min_size=1, max_size=60)
READS = st.lists(KEYS, max_size=60)


def root_of(entries: Iterable[statemap.Entry]) -> statemap.Root:
    """The root over entries in the order of their keys, however they came to be. Reads them once."""
    levels: list[list[statemap.Entry]] = [[]]
    starts = [""]

    def close(level: int) -> None:
        body = statemap._encode(levels[level])
        up = (starts[level], statemap._hash(level, body))
        if level + 1 == len(levels):
            levels.append([])
            starts.append("")
        levels[level + 1].append(up)
        levels[level] = []

    for key, value in entries:
        for level in range(statemap._height(key)):
            if not levels[level]:  # the very first key begins no new chunk
                break
            close(level)
            starts[level] = key
        levels[0].append((key, value))
    level = 0
    while level + 1 < len(levels):
        close(level)
        level += 1
    return statemap.Root(level, statemap._hash(level, statemap._encode(levels[level])))


def table() -> sqlite3.Connection:
    sql = sqlite3.connect(":memory:")
    sql.execute("CREATE TABLE node (ws INTEGER, level INTEGER, start TEXT, body BLOB, PRIMARY KEY (ws, level, start))")
    return sql


@given(st.lists(st.tuples(WRITES, READS), max_size=12), st.integers(1, 8))
def test_a_map_with_a_small_cache_answers_like_a_dictionary(
    turns: list[tuple[dict[str, bytes], list[str]]], kept: int
) -> None:
    found = StateMap(table(), 1, kept=kept)
    root, plain = EMPTY, dict[str, bytes]()
    for written, read in turns:
        root = found.update(root, written)
        plain |= written
        assert found.find(root, read) == {key: plain[key] for key in read if key in plain}
        assert {key: found.get(root, key) for key in read} == {key: plain.get(key, b"") for key in read}
        assert root == root_of(sorted(plain.items()))
    assert dict(found.beginning_with(root, "k")) == plain


def test_a_map_three_times_the_size_of_its_cache_is_read_and_written_in_one_process() -> None:
    found, kept, root = StateMap(table(), 1, kept=16), 16, EMPTY
    plain: dict[str, bytes] = {}
    for number in range(60):
        part = {f"key {number} {one}": bytes([number]) for one in range(40)}
        plain |= part
        root = found.update(root, part)
        assert found.find(root, plain) == plain
    assert sum(statemap._height(key) > 0 for key in plain) > 3 * kept


def test_a_process_that_wrote_more_than_the_cache_holds_still_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StateMap.__init__, "__kwdefaults__", {"kept": 32})
    with Workspace.open(":memory:") as team:
        source = team.observe("Everything is confirmed.", by="bob")
        agent = team.agent("ann", role="planner", task="trip")
        for turn in range(8):
            with team.batch():
                for one in range(250):
                    team.record(f"fact {turn}.{one}", slot=f"s{turn}.{one}", sources=[source], by="bob")
            agent.depart()
            returned = agent.come_back()
            assert (returned.kind, returned.reasons) == ("admitted", ())
            returned.expose()
            returned.acknowledge()
