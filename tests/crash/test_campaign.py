"""``kill -9`` at any moment, thousands of times: nothing acknowledged is lost, and work goes on."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from tests.conftest import NIGHTLY
from tests.crash.campaign import ROUNDS, Figures, on_one_store
from tests.postgres import Server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KILLS, SERVER_KILLS = (2_000, 60) if NIGHTLY else (200, 15)
SERVER_ROUNDS = 5
# The second argument is where the keys lie; without one, beside the file.
Place = tuple[str, "Path | None"]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[int], Place]:
    """Makes places for stores, by number."""
    if request.param == "sqlite":
        return lambda number: (str(tmp_path / f"{number}.db"), None)
    server: Server = request.getfixturevalue("server")
    return lambda number: (server.url(f"campaign{number}"), tmp_path / "keys")


def killed(store: Callable[[int], Place], kills: int, seed: int) -> Figures:
    """Kill writers at least so many times, those of two stores at once."""

    def one(number: int) -> Figures:
        place, keys = store(1_000 * seed + number)
        return on_one_store(place, keys, random.Random(f"{seed} {number}"), ROUNDS)

    total, numbers = Figures(), count()
    with ThreadPoolExecutor(2) as pool:
        while total.kills < kills:
            for done in pool.map(one, islice(numbers, 8 if kills > ROUNDS else 1)):
                total += done
    assert total.acknowledged > total.kills
    return total


def test_writers_killed_again_and_again_lose_nothing(store: Callable[[int], Place]) -> None:
    killed(store, ROUNDS, seed=1)


@pytest.mark.slow
def test_many_kills_lose_nothing(
    store: Callable[[int], Place], request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    total = killed(store, KILLS, seed=2)
    with capsys.disabled():
        print(f"\n{request.node.callspec.id}: {total}")


def server_killed(folder: Path, kills: int) -> Figures:
    """Kill a server under its writers so many times."""
    pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")
    total = Figures()
    with Server(fsync=True) as server:

        def stop() -> None:
            server.stop()
            server.start()

        for number in range(0, kills, SERVER_ROUNDS):
            place, rounds = server.url(f"killed{number}"), min(kills, SERVER_ROUNDS)
            total += on_one_store(place, folder / "keys", random.Random(number), rounds, stop)
    assert total.kills == kills
    return total


def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    server_killed(tmp_path, 2)


@pytest.mark.slow
def test_many_kills_of_a_server_lose_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    total = server_killed(tmp_path, SERVER_KILLS)
    with capsys.disabled():
        print(f"\nserver: {total}")
