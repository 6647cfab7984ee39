"""New turns of a session's transcript: what the user and the assistant said to each other, and nothing else.

A transcript also holds whole requests to the model, texts of hooks, results of tools and copies of memory files. None
of them is a turn. Two forms are read, Claude Code's and Codex's, each line by itself, because a transcript is data of a
stranger and may end within a line.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit.clients.intake.spool_content import users_words
from readmit.clients.known_clients import CLIENTS
from readmit.clients.moments.hook_status import replace_file
from readmit.clients.secret_filter import without_secrets
from readmit.inference import Turn
from readmit.text.carried import ASSISTANT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.clients.project import Project

MOST_KNOWN = 200
"""Most transcripts of a project whose place is remembered: the newest."""
MOST_READ = 32 << 20
"""Most bytes of a transcript that are read at once."""
_LONGEST_LINE = 1 << 20
_MOST_OF_USER, _MOST_OF_ASSISTANT = 6_000, 800
"""Most characters of a turn. The assistant's words are there for what the user's refer to."""
_BEFORE = 120.0
"""Seconds before the first line in the spool at which a session may have begun."""


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """A transcript, and how far it was read."""

    client: str
    session: str
    """The session's principal."""
    task: str
    since: float
    """Turns before this moment were there before: of a session that was forked, or that ran without hooks."""
    offset: int = 0
    file: int = 0
    """Number of the file on its disk: another file is read from its beginning."""


class KnownTranscripts(msgspec.Struct, kw_only=True):
    """The transcripts of a project by path, and how many requests to a model they cost today."""

    files: dict[str, Transcript] = {}
    day: str = ""
    asked: int = 0


class NewTurns(NamedTuple):
    """Turns of a transcript that were not read before, and where it is to be read on."""

    turns: tuple[tuple[int, Turn], ...]
    """Each with the place after it."""
    end: int


def load_transcripts(project: Project) -> KnownTranscripts:
    """The known transcripts; none if the file is missing or malformed."""
    try:
        return msgspec.json.decode(_state(project).read_bytes(), type=KnownTranscripts)
    except (OSError, msgspec.MsgspecError):
        return KnownTranscripts()


def save_transcripts(project: Project, known: KnownTranscripts) -> None:
    """Save the newest of the known transcripts."""
    newest = sorted(known.files.items(), key=lambda one: -one[1].since)[:MOST_KNOWN]
    replace_file(_state(project), msgspec.json.encode(msgspec.structs.replace(known, files=dict(newest))))


def known_transcript(client: str, path: str) -> str:
    """The real path of a transcript that a client names, if it is one of its own; empty if not."""
    if client not in CLIENTS or CLIENTS[client].form not in _TURNS or not os.path.isabs(path):  # noqa: PTH117 - a text from elsewhere
        return ""
    real = os.path.realpath(path)
    folder = "projects" if CLIENTS[client].form == "claude" else "sessions"
    top = os.path.realpath(CLIENTS[client].place(folder))
    return real if Path(real).is_relative_to(top) and real.endswith(".jsonl") else ""


def new_transcript(client: str, session: str, task: str, at: int) -> Transcript:
    """A transcript that a session's first line in the spool names; that line was written at a moment in nanoseconds."""
    return Transcript(client=client, session=session, task=task, since=at / 1e9 - _BEFORE)


def new_turns(path: str, known: Transcript) -> tuple[NewTurns, Transcript]:
    """New turns of a transcript, and the transcript with the number of its file."""
    with suppress(OSError, ValueError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if stat.S_ISREG(status.st_mode):
                is_same = known.file in (0, status.st_ino) and known.offset <= status.st_size
                known = msgspec.structs.replace(known, file=status.st_ino, offset=known.offset if is_same else 0)
                file.seek(known.offset)
                return _turns_in(file.read(MOST_READ), known), known
    return NewTurns((), known.offset), known


def _turns_in(data: bytes, known: Transcript) -> NewTurns:
    whole = data[: data.rfind(b"\n") + 1]
    # A line without an end that is as long as all that is read will not be parsed either.
    if not whole and len(data) == MOST_READ:
        return NewTurns((), known.offset + len(data))
    at, found = known.offset, []
    turns_of = _TURNS[CLIENTS[known.client].form]
    for raw in whole.splitlines(keepends=True):
        at += len(raw)
        record = _record(raw)
        if record is None or _moment(record) < known.since:
            continue
        for turn in turns_of(record):
            text = without_secrets(turn.text).text.encode("utf-8", "replace").decode().replace("\0", "").strip()
            if text:
                found.append((at, Turn(turn.by, text)))
    return NewTurns(tuple(found), at)


def _record(raw: bytes) -> dict[str, Any] | None:
    # No turn is that long; a whole request to the model may be.
    if len(raw) > _LONGEST_LINE:
        return None
    with suppress(ValueError, RecursionError):
        record = json.loads(raw)
        return record if isinstance(record, dict) else None
    return None


def _moment(record: dict[str, Any]) -> float:
    with suppress(LookupError, ValueError, TypeError, OverflowError):
        return datetime.fromisoformat(record["timestamp"]).timestamp()
    return 0.0


def _claude(record: dict[str, Any]) -> Iterator[Turn]:
    """The turn of a line of Claude Code's."""
    kind, message = record.get("type"), record.get("message")
    hidden = ("isMeta", "isSidechain", "isCompactSummary", "toolUseResult", "isVisibleInTranscriptOnly")
    if kind not in ("user", "assistant") or not isinstance(message, dict) or any(map(record.get, hidden)):
        return
    if message.get("role") == kind:
        yield from _turn(kind, _texts(message.get("content"), ("text",)))


def _codex(record: dict[str, Any]) -> Iterator[Turn]:
    """The turn of a line of Codex's.

    Its other form of the same turns also holds what was put in between.
    """
    payload = record.get("payload")
    item = payload.get("item") if record.get("type") == "event_msg" and isinstance(payload, dict) else None
    if isinstance(item, dict) and item.get("type") in ("UserMessage", "AgentMessage"):
        by = "user" if item["type"] == "UserMessage" else ASSISTANT
        yield from _turn(by, _texts(item.get("content"), ("text", "Text")))


_TURNS = {"claude": _claude, "codex": _codex}


def _texts(content: object, kinds: tuple[str, ...]) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [one.get("text") for one in blocks if isinstance(one, dict) and one.get("type") in kinds]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _turn(by: str, text: str) -> Iterator[Turn]:
    if by == ASSISTANT:
        yield Turn(ASSISTANT, text[:_MOST_OF_ASSISTANT])
    elif words := users_words(text):
        yield Turn("user", words[:_MOST_OF_USER])


def _state(project: Project) -> Path:
    return project.folder / "transcripts.json"
