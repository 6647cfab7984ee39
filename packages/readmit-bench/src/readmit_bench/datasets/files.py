"""Reads benchmark files from a folder, or from an archive in place. Every error names the file."""

from __future__ import annotations

import codecs
import tarfile
from typing import TYPE_CHECKING, TypeVar

import msgspec

from readmit.errors import RecordError
from readmit.lab import decode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

T = TypeVar("T")

LARGEST_FILE = 256 * 1024 * 1024


class Raw(msgspec.Struct, frozen=True, kw_only=True):
    """A record in an official format. Fields that are not read here are ignored."""


def existing(path: Path, *, what: str) -> Path:
    """The path, or an error that says what should have been there."""
    if not path.exists():
        raise RecordError(f"{path}: no such file or folder; name the folder that holds {what}")
    return path


def parse(data: bytes, kind: type[T], *, file: object) -> T:
    """Decode one file; the error names it and the path of the field."""
    return decode(data.removeprefix(codecs.BOM_UTF8), kind, what=str(file))


def read(path: Path, kind: type[T]) -> T:
    """Decode a JSON file."""
    return parse(path.read_bytes(), kind, file=path)


def read_lines(path: Path, kind: type[T]) -> Iterator[T]:
    """Decode a file of one JSON record per line."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield parse(line, kind, file=f"{path}, line {number}")


def tree(path: Path) -> Iterator[tuple[str, bytes]]:
    """Each JSON file below a folder, or inside a tar archive, with its name relative to the root."""
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            yield file.relative_to(path).as_posix(), file.read_bytes()
        return
    try:
        # A stream: members are read in memory and never written, so no member's name can reach the disk.
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                if not member.isfile() or not member.name.endswith(".json"):
                    continue
                if member.size > LARGEST_FILE:
                    raise RecordError(
                        f"{path}: {member.name} is larger than {LARGEST_FILE} bytes; this is not the release"
                    )
                content = archive.extractfile(member)
                if content is not None:
                    yield member.name.removeprefix("./"), content.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise RecordError(f"{path}: cannot be read as a tar archive ({error}); unpack it or fetch it again") from None
