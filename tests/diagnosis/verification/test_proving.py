"""Heads and proofs that leave the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.diagnosis.verification.head_proofs import proof_of, signed_head, verifier_key
from readmit.errors import SealError, UnknownError
from readmit.trust.notes import LogCheckpoint, note_text
from readmit.trust.proofs import check_proof

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.trust.notes import NoteKey


@pytest.fixture
def team(place: Path | str, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(place, keys=tmp_path) as workspace:
        yield workspace


def key_of(team: Workspace) -> NoteKey:
    return verifier_key(team._desk.log, team._desk.keys.signer().public)


def fill(team: Workspace, rounds: int) -> None:
    for number in range(rounds):
        with team.batch():
            source = team.observe(f"Room {number} is free, {team.epoch}.", by="A2")
            team.record(f"Room {number} is booked.", sources=[source], by="A2", slot=f"room.{number}")


def test_every_event_is_proven_without_the_store(team: Workspace) -> None:
    fill(team, 5)
    note, key = signed_head(team._desk.log), key_of(team)
    for event in team._desk.log.tail():
        found = check_proof(proof_of(team._desk.log, event.epoch, note), [key])
        assert (found.epoch, found.id, found.kind, found.by) == (event.epoch, event.id, str(event.kind), event.by)
        assert found.digest == event.digest


def test_a_proof_can_be_made_under_each_head_that_was_kept(team: Workspace) -> None:
    fill(team, 1)
    last = team.epoch
    for _ in range(6):
        note = signed_head(team._desk.log)
        fill(team, 1)
        size = LogCheckpoint.from_text(note_text(note)).size
        assert check_proof(proof_of(team._desk.log, last, note), [key_of(team)]).size == size


def test_a_head_proves_nothing_that_came_after_it(team: Workspace) -> None:
    fill(team, 1)
    note = signed_head(team._desk.log)
    fill(team, 1)
    with pytest.raises(UnknownError, match="use a newer head"):
        proof_of(team._desk.log, team.epoch, note)


@pytest.mark.parametrize("epoch", [0, -1, 10_000])
def test_an_epoch_that_is_not_there_is_not_proven(team: Workspace, epoch: int) -> None:
    fill(team, 1)
    with pytest.raises(UnknownError, match="has no epoch"):
        proof_of(team._desk.log, epoch, signed_head(team._desk.log))


@pytest.mark.parametrize(("rounds", "error"), [(2, SealError), (3, UnknownError)], ids=["as long", "longer"])
def test_the_head_of_another_workspace_proves_nothing(
    tmp_path: Path, team: Workspace, rounds: int, error: type[Exception]
) -> None:
    fill(team, 2)
    with Workspace.open(tmp_path / "other.db") as other:
        fill(other, rounds)
        with pytest.raises(error, match=r"another log|not one of"):
            proof_of(team._desk.log, team.epoch, signed_head(other._desk.log))
