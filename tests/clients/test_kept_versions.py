"""Versions of files that were looked at, for the next process: only a settled version of the same probe counts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from readmit.clients.kept_versions import KeptVersions
from readmit.sources import FileProbe
from readmit.sources.files import version

if TYPE_CHECKING:
    from pathlib import Path

PROBE = FileProbe(path="a.py", quote="def f", digest="0" * 64)
LATER = 10_000_000_000


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "looks.json"


@pytest.fixture
def seen(tmp_path: Path) -> tuple[int, int, int, int, int]:
    (tmp_path / "a.py").write_text("def f")
    return version(os.stat(tmp_path / "a.py"))  # noqa: PTH116 - as the looker does


def test_a_settled_version_is_known_to_the_next_process(kept: Path, seen: tuple[int, int, int, int, int]) -> None:
    first = KeptVersions(kept)
    first.put(PROBE, seen, seen[-1] + LATER)
    first.save()
    assert kept.stat().st_mode & 0o777 == 0o600
    second = KeptVersions(kept)
    assert second.get(PROBE) == seen
    assert second.get(FileProbe(path="a.py", quote="def g", digest="1" * 64)) is None
    assert second.get(FileProbe(path="b.py", quote="def f", digest="0" * 64)) is None


def test_a_file_that_was_written_just_before_is_looked_at_again(
    kept: Path, seen: tuple[int, int, int, int, int]
) -> None:
    first = KeptVersions(kept)
    first.put(PROBE, seen, seen[-1])
    first.save()
    assert not kept.exists()


def test_another_version_of_a_file_forgets_what_stood_in_the_one_before(
    kept: Path, seen: tuple[int, int, int, int, int]
) -> None:
    first, other = KeptVersions(kept), FileProbe(path="a.py", quote="x = 1", digest="1" * 64)
    first.put(PROBE, seen, seen[-1] + LATER)
    first.put(other, (*seen[:-1], seen[-1] + 1), seen[-1] + LATER)
    assert (first.get(PROBE), first.get(other)) == (None, (*seen[:-1], seen[-1] + 1))


@pytest.mark.parametrize("data", [b"", b"[]", b'{"a.py": 1}', b"\xff"])
def test_a_malformed_file_counts_as_none(kept: Path, data: bytes) -> None:
    kept.write_bytes(data)
    assert KeptVersions(kept).get(PROBE) is None
