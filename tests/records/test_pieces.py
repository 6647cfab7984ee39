"""Lists in pieces: equal parts of two lists are the same pieces, and a changed entry changes few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readmit import Reason, State
from readmit.records.canonical import LONGEST_PIECE, Pieces, below, cut, digest_of, joined
from readmit.types import Disposition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def judged(names: Iterable[int], state: State = State.NOT_NEEDED) -> list[Disposition]:
    return [
        Disposition(item=f"i{name}", digest=digest_of(b"%d" % name), state=state, reasons=(Reason.NOT_NEEDED,))
        for name in names
    ]


def pieces_of(entries: Sequence[Disposition]) -> Pieces:
    return cut(entries, [one.digest for one in entries])


def told(entries: Sequence[Disposition]) -> list[Disposition]:
    """The entries, read back from their pieces alone."""
    root, parts = pieces_of(entries)
    pieces = joined(root, lambda names: {name: parts[name] for name in names})
    return [one for piece in pieces for one in msgspec.json.decode(piece, type=list[Disposition])]


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=300))
def test_a_list_is_read_back_as_it_was(names: list[int]) -> None:
    assert told(judged(names)) == judged(names)


def test_each_piece_has_the_digest_of_its_bytes_as_its_name() -> None:
    for count in (0, 1, 100, 2_000):
        root, parts = pieces_of(judged(range(count)))
        assert root in parts
        assert all(digest_of(piece) == name for name, piece in parts.items())


CHANGES = {
    "one decided otherwise": lambda names: judged(names[:1], State.WITHHELD) + judged(names[1:]),
    "one more": lambda names: judged([*names, 10**7]),
    "one less": lambda names: judged([*names[:700], *names[701:]]),
    "one more at the beginning": lambda names: judged([10**7, *names]),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_costs_its_own_pieces_and_those_above_them(change: str) -> None:
    names = list(range(2_000))
    before, after = pieces_of(judged(names)), pieces_of(CHANGES[change](names))
    fresh = after.parts.keys() - before.parts.keys()
    assert after.root != before.root
    assert len(fresh) <= 6 < len(after.parts) / 20
    assert sum(len(after.parts[name]) for name in fresh) < sum(map(len, after.parts.values())) / 15


def test_who_chooses_digests_cannot_make_a_piece_long() -> None:
    chosen = [msgspec.structs.replace(one, digest="f" + one.digest[1:]) for one in judged(range(1_000))]
    leaves = [piece for piece in pieces_of(chosen).parts.values() if below(piece) is None]
    assert max(len(msgspec.json.decode(piece)) for piece in leaves) == LONGEST_PIECE
    assert told(chosen) == chosen
