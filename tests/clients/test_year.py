"""The benchmark of a year plays what it says, and says what it has not played."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.year import BAR, START_BAR, Played, play, results

if TYPE_CHECKING:
    from pathlib import Path


def test_two_days_of_it(home: Path, tmp_path: Path) -> None:
    done: list[int] = []
    played = play(tmp_path, 2, 3, done.append)
    assert len(done) == 6
    assert len(played.sizes) == 1
    assert 100_000 < played.sizes[0] <= played.largest + 1_000_000
    assert 1_000 < played.quiet < START_BAR * 1_000


def test_a_shorter_time_is_extrapolated_by_what_its_last_two_weeks_added() -> None:
    played = Played([10_000_000, 20_000_000, 24_000_000, 27_000_000, 30_000_000], 33_000_000, 12_000, 0.1)
    year, largest, quiet, _ = results(played, 35)
    assert year["value"] == round(30 + 6 * (365 - 35) / 14, 4)
    assert year["value"] + 12 <= largest["value"] <= BAR
    assert "from 35 days" in year["name"]
    assert quiet["holds"]


def test_a_whole_year_is_what_was_measured() -> None:
    year, largest, *_ = results(Played([1_000_000] * 52 + [150_000_000], 210_000_000, 12_000, 0.1), 365)
    assert (year["value"], largest["value"], largest["holds"]) == (150, 210, False)
    assert "played" in year["name"]
