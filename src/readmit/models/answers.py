"""Answers in files: the output lines of an OpenAI batch, which are also the form of recorded answers.

Each line carries the id of its request and either a response with a chat completion in it or an error. These files are
written outside readmit, so every malformed line is reported, and none stops the others.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from readmit.models.chat import completion_text, failure_of, one_line, read_response
from readmit.models.jsonl import read_lines
from readmit.models.protocols import Fault, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from readmit.models.protocols import Ask, Failure, Reply

_REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY})


class AnswerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of an answer file: an answer, or an error in its place."""

    custom_id: str
    where: str
    """File name and line number."""
    body: bytes = b""
    text: str = ""
    error: str = ""
    refused: bool = False
    """Whether the request itself is at fault, so that asking again is pointless."""
    model: str | None = None
    """The model that answered, where the writer noted it."""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of answer files, in order."""

    entries: dict[str, tuple[AnswerEntry, ...]]
    malformed: tuple[str, ...] = ()
    """Lines that cannot be read at all."""
    incomplete: tuple[str, ...] = ()
    """Incomplete last lines: their writer died or is still writing."""

    def answer(self, custom_id: str) -> AnswerEntry | None:
        """The entry that counts: the first answer, or else the last error.

        The first, so that a used answer stays the answer when files are added; an answer before any error, so that a
        failed request can be asked again.
        """
        entries = self.entries.get(custom_id, ())
        return next((entry for entry in entries if not entry.error), entries[-1] if entries else None)


class _Response(msgspec.Struct):
    status_code: int | None = None
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Error(msgspec.Struct):
    code: str | int | None = None
    message: str | None = None


class _Refusal(msgspec.Struct):
    error: _Error | str | None = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _Error | str | None = None
    model: str | None = None


def read_answers(paths: Iterable[Path]) -> Answers:
    """Read answer files in the natural order of their names (2 before 10)."""
    entries: dict[str, tuple[AnswerEntry, ...]] = {}
    malformed: list[str] = []
    incomplete: list[str] = []
    for path in sorted(paths, key=_natural):
        lines = read_lines(path)
        for number, line in lines.whole:
            where = f"{path.name}:{number}"
            entry = _entry(line, where)
            if entry is None:
                malformed.append(where)
            else:
                entries[entry.custom_id] = (*entries.get(entry.custom_id, ()), entry)
        if lines.torn is not None:
            incomplete.append(f"{path.name}:{lines.torn}")
    return Answers(entries=entries, malformed=tuple(malformed), incomplete=tuple(incomplete))


def result_of(ask: Ask, entry: AnswerEntry) -> Reply | Failure:
    """The result of the request that an entry answers."""
    if entry.error:
        fault = Fault.REFUSED if entry.refused else Fault.UNAVAILABLE
        return failure_of(ask, fault, f"{entry.where}: {entry.error}")
    return read_response(ask, entry.body, replayed=True)


def _entry(data: bytes, where: str) -> AnswerEntry | None:
    line = read_json(data, _Line)
    if line is None:
        return None
    error, body, text = "", b"", None
    status = line.response.status_code if line.response is not None else None
    if line.error is not None:
        error = line.error if isinstance(line.error, str) else f"{line.error.code or ''} {line.error.message or ''}"
        error = error.strip() or "an error without a message"
    elif line.response is None:
        error = "neither a response nor an error"
    elif status not in (None, HTTPStatus.OK):
        error = f"status {status}{_reason(bytes(line.response.body))}"
    else:
        body = bytes(line.response.body)
        text = completion_text(body)
        error = "" if text is not None else "the response body is not a chat completion"
    return AnswerEntry(
        custom_id=line.custom_id,
        where=where,
        body=body,
        text=text or "",
        error=one_line(error),
        refused=status in _REFUSED,
        model=line.model,
    )


def _reason(body: bytes) -> str:
    """The provider's message in a response that is not an answer."""
    refusal = read_json(body, _Refusal)
    error = None if refusal is None else refusal.error
    return f": {error if isinstance(error, str) else error.message or error.code or ''}" if error else ""


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", path.name)]
