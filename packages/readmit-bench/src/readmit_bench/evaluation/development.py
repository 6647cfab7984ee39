"""The development data, read in place: STALE pairs, what a strong model wrote about them, Memora filler.

Nothing here is copied or unpacked; the Memora archive is read as it is.
"""

from __future__ import annotations

import codecs
import tarfile
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from readmit.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

T = TypeVar("T")

FILLER_CHARS = 600
"""How much of a filler session's user turns is used: as much as its implied facts were written from."""


NO_MEMORY = "no_memory"


class StalePair(msgspec.Struct, frozen=True):
    """A STALE record without its sessions. Fields that this project does not read are ignored."""

    uid: str
    type: Literal["T1", "T2"]
    old: str = msgspec.field(name="M_old")
    new: str = msgspec.field(name="M_new")
    index: tuple[int, int] = msgspec.field(name="relevant_session_index")


class Implied(msgspec.Struct, frozen=True):
    """Premises of the old statement and facts implied by the new one, each written from that statement alone."""

    uid: str
    old_premises: tuple[str, ...]
    new_implied: tuple[str, ...]


class FillerFacts(msgspec.Struct, frozen=True):
    """Facts that a Memora session implies."""

    period: str
    persona: str
    session_id: int
    implied: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"{self.period}/{self.persona}/conversations/session_{self.session_id:04d}.json"


class Filler(msgspec.Struct, frozen=True):
    """An unrelated session: what the user said, and what it implies."""

    text: str
    implied: tuple[str, ...]


class _Turn(msgspec.Struct):
    speaker: str
    message: str


class _Kind(msgspec.Struct):
    session_type: str = ""


class _Session(msgspec.Struct):
    session_type: str
    conversation: list[_Turn]


class _StaleTurn(msgspec.Struct):
    role: str
    content: str


class _FullRecord(msgspec.Struct):
    relevant_session_index: tuple[int, int]
    haystack_session: list[list[_StaleTurn]]


def read_lines(path: Path, kind: type[T]) -> list[T]:
    """A JSON Lines file as typed rows; an error names the file, the line and the field."""
    if not path.is_file():
        raise RecordError(f"{path}: there is no such file; name the folder that holds the development data")
    rows: list[T] = []
    for number, line in enumerate(path.read_bytes().removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        if line.strip():
            try:
                rows.append(msgspec.json.decode(line, type=kind))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise RecordError(f"{path}:{number}: {error}") from None
    return rows


def stale_pairs(data: Path, kind: Literal["T1", "T2"] | None = None) -> list[StalePair]:
    """The pairs of one type, or all of them."""
    return [pair for pair in read_lines(data / "stale" / "pairs.jsonl", StalePair) if kind in (None, pair.type)]


def implied_facts(data: Path) -> Mapping[str, Implied]:
    """By pair."""
    return {row.uid: row for row in read_lines(data / "stale" / "implied_facts.jsonl", Implied)}


def memora_filler(data: Path) -> list[Filler]:
    """The ``no_memory`` sessions whose implied facts were written, in the order of that file."""
    facts = read_lines(data / "stale" / "filler_implied_facts.jsonl", FillerFacts)
    wanted = {row.path for row in facts}
    texts: dict[str, str] = {}
    with tarfile.open(data / "memora" / "memora-weekly-monthly.tar.xz", "r:xz") as archive:
        for member in archive:
            if member.name in wanted and (file := archive.extractfile(member)) is not None:
                text = memora_text(file.read(), member.name)
                if text is None:
                    raise RecordError(f"{member.name}: session_type is not {NO_MEMORY}; filler has no memory in it")
                texts[member.name] = text
                if len(texts) == len(wanted):
                    break
    if lacking := sorted(wanted - texts.keys()):
        raise RecordError(f"memora-weekly-monthly.tar.xz: lacks {lacking[0]}, which filler_implied_facts.jsonl names")
    return [Filler(texts[row.path], row.implied) for row in facts]


def memora_text(data: bytes, where: str) -> str | None:
    """What the user says in a session file of Memora; None if it is another file, or a session with a memory."""
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        kind = msgspec.json.decode(data, type=_Kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if kind.session_type != NO_MEMORY:
        return None
    try:
        session = msgspec.json.decode(data, type=_Session)
    except msgspec.DecodeError as error:
        raise RecordError(f"{where}: {error}") from None
    return " ".join(turn.message for turn in session.conversation if turn.speaker == "user_agent")[:FILLER_CHARS]


def official_filler(data: Path) -> list[Filler]:
    """The unrelated sessions of the full STALE records. They have no implied facts."""
    records = msgspec.json.decode(
        (data / "stale" / "full_records.json").read_bytes().removeprefix(codecs.BOM_UTF8), type=list[_FullRecord]
    )
    return [
        Filler(" ".join(turn.content for turn in session if turn.role == "user")[:FILLER_CHARS], ())
        for record in records
        for number, session in enumerate(record.haystack_session)
        if number not in record.relevant_session_index
    ]
