"""Threads that write at once share a commit: each call returns once its own event is durable, and fails alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.diagnosis.verification.log_verifier import LogVerifier
from readmit.errors import ReadmitError, SealError
from readmit.events import EventKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

THREADS, EACH = 8, 25


def _together(work: Callable[[int], object]) -> list[BaseException | None]:
    """Run the same work in many threads that begin at once, and return how each ended."""
    ready = threading.Barrier(THREADS)

    def one(number: int) -> None:
        ready.wait()
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return [done.exception() for done in [pool.submit(one, number) for number in range(THREADS)]]


def _commits(team: Workspace) -> int:
    with team._desk.log.reading():
        return int(team._desk.log.commits.head().edge.size)


def test_writers_share_commits(place: Path | str) -> None:
    with Workspace.open(place) as team:
        before = _commits(team)

        def write(number: int) -> None:
            for turn in range(EACH):
                team.observe(f"Observation {number}.{turn}.", by="ann")

        assert _together(write) == [None] * THREADS
        assert _commits(team) - before < THREADS * EACH
        assert team.epoch == 1 + THREADS * EACH


def test_a_call_returns_once_its_event_is_durable(place: Path | str) -> None:
    with Workspace.open(place) as team:
        lost: list[str] = []

        def write(number: int) -> None:
            with Workspace.open(place) as other:
                for turn in range(EACH):
                    digest = team.observe(f"Observation {number}.{turn}.", by=f"w{number}")
                    name = team.record(f"Fact {number}.{turn}.", by=f"w{number}", slot=f"s{turn}", sources=[digest])
                    if (
                        other._desk.log.evidence_id(digest) is None
                        or other._desk.log.named(EventKind.RECORD, name) is None
                    ):
                        lost.append(name)

        assert _together(write) == [None] * THREADS
        assert not lost
        assert team.epoch >= THREADS * EACH * 2
    verifier = LogVerifier(place, "default")
    assert verifier.verify(full=True).problems == ()
    verifier.close()


def test_an_error_fails_only_its_own_writer(place: Path | str) -> None:
    with Workspace.open(place) as team:
        team.record("Taken.", by="ann", id="taken")

        def write(number: int) -> None:
            for turn in range(EACH):
                if number % 2:
                    with pytest.raises(ReadmitError, match="already used"):
                        team.record(f"Another {number}.{turn}.", by="bob", id="taken")
                else:
                    team.observe(f"Observation {number}.{turn}.", by="ann")

        assert _together(write) == [None] * THREADS
        texts = {event.payload.text for event in team.admin.log.tail() if event.kind == "observe"}  # type: ignore[attr-defined]
    assert texts == {f"Observation {number}.{turn}." for number in range(0, THREADS, 2) for turn in range(EACH)}


def test_a_commit_that_fails_fails_every_writer_of_it_and_writes_nothing(
    place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workspace.open(place) as team:
        team.observe("Before.", by="ann")
        epoch, sealer = team.epoch, team._desk.log.commits.sealer
        assert sealer is not None

        def refuse(*_: object, **__: object) -> bytes:
            raise SealError("the key is out of reach")

        with monkeypatch.context() as patch:
            patch.setattr(sealer, "sign", refuse)
            ended = _together(lambda number: team.observe(f"Lost {number}.", by="ann"))
        assert {type(one) for one in ended} == {SealError}
        assert team.epoch == epoch
        assert _together(lambda number: team.observe(f"Kept {number}.", by="ann")) == [None] * THREADS
        assert team.epoch == epoch + THREADS


def test_readers_batches_and_single_writes_mix(place: Path | str) -> None:
    with Workspace.open(place) as team:
        seen: list[bool] = []

        def work(number: int) -> None:
            for turn in range(EACH):
                if number == 0:
                    with team.batch():
                        team.observe(f"Batch {turn} a.", by="ann")
                        team.observe(f"Batch {turn} b.", by="ann")
                elif number == 1:
                    with team._desk.log.reading():
                        seen.append(len(list(team._desk.log.tail())) == team.epoch)
                else:
                    digest = team.observe(f"Single {number}.{turn}.", by="bob")
                    seen.append(team._desk.log.evidence_id(digest) is not None)

        assert _together(work) == [None] * THREADS
        assert all(seen)
        assert sum(event.kind == "observe" for event in team._desk.log.tail()) == EACH * THREADS
