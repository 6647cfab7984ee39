"""Appends one line about a tool use or a prompt to the spool file of its session. Nothing else happens while it works.

A client runs this file by its path, without site packages: ``PYTHON -I -S spool_line.py SPOOL_FOLDER CLIENT``, with the
hook's payload on standard input. It imports no other module of readmit, prints nothing, and its status is always 0,
because a client takes output and statuses of hooks as orders. ``clients.take_in`` reads the lines later.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself takes as long to import as all of this
    from typing import Any

MOST_INPUT = 4 << 20
"""Most bytes of a payload that are parsed. Of a longer one nothing is kept but that it was there."""
MOST_RAW = 16_000
"""Most bytes of a payload that is kept as it came."""
MOST_FILE = 16 << 20
"""Most bytes of one spool file. A session that says more is not heard of until its spool is taken in."""
MOST_TEXT = 6_000
"""Most characters kept of one text: its beginning, and a quarter from its end."""
MOST_LINE = 48_000
"""Most bytes of a line. One write of this size is not torn apart by others."""
_SECONDS = 1.5
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST_NAME = 100
_NAMES = (
    "session_id", "agent_id", "cwd", "hook_event_name", "transcript_path", "tool_name", "tool_use_id", "prompt_id",
    "turn_id",
)  # fmt: skip
_INPUTS = (
    "command", "cmd", "file_path", "path", "absolute_path", "notebook_path", "url", "query", "pattern", "offset",
    "limit", "input", "patch",
)  # fmt: skip
_RESULTS = ("stdout", "stderr", "output", "text", "content", "llmContent", "error", "result")
FILE_TOOLS = frozenset({"Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "read_file", "write_file", "replace"})
_DEEPEST = 4


def file_name(client: str, session: str) -> str:
    """The name that files about one session have, without a suffix. No name leads out of its folder."""
    return f"{''.join(one for one in client if one in _PLAIN)[:40] or 'client'}-{plain_id(session)}"


def plain_id(given: str) -> str:
    """An id that a client gives, if it is short and plain, or a digest of it."""
    return given if given and _PLAIN.issuperset(given) and len(given) <= _LONGEST_NAME else _hashed(given)


def append(folder: str, client: str, payload: bytes) -> bool:
    """Append a payload to the spool file of its session. Whether it was written."""
    line = _line(client, payload)
    path = os.path.join(folder, file_name(client, _session(payload)) + ".jsonl")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    # A reader renames the file before it reads it. A writer that opened it before that begins again.
    for _ in range(5):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            mine = os.fstat(handle)
            if mine.st_size + len(line) > MOST_FILE:
                return False
            if _is_at(path, mine):
                return os.write(handle, line) == len(line)
        finally:
            os.close(handle)
    return False


def kept(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a payload that a reader needs, each bounded."""
    fields: dict[str, Any] = {name: given[name][:1_000] for name in _NAMES if isinstance(given.get(name), str)}
    if isinstance(given.get("prompt"), str):
        fields["prompt"] = _shortened(given["prompt"])
    if isinstance(used := given.get("tool_input"), dict):
        fields["input"] = {
            name: _shortened(value) if isinstance(value, str) else value
            for name, value in used.items()
            if name in _INPUTS and isinstance(value, str | int)
        }
    if given.get("tool_name") not in FILE_TOOLS:
        texts: list[str] = []
        _collect(given.get("tool_response", given.get("error")), texts, 0)
        if texts:
            fields["result"] = _shortened("\n".join(texts))
    if "error" in given:
        fields["failed"] = True
    return fields


def _is_at(path: str, file: os.stat_result) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (file.st_dev, file.st_ino)


def _collect(value: object, texts: list[str], depth: int) -> None:
    """The texts of a tool's answer, whatever form the client gives it."""
    if isinstance(value, str):
        if value:
            texts.append(value)
    elif depth < _DEEPEST and isinstance(value, list):
        for one in value[:50]:
            _collect(one, texts, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for name in _RESULTS:
            _collect(value.get(name), texts, depth + 1)


def _line(client: str, payload: bytes) -> bytes:
    """The payload as it came, if it is short: parsing it would take longer than all the rest."""
    name = "".join(one for one in client if one in _PLAIN)
    head = f'\n{{"at":{time.time_ns()},"pid":{os.getpid()},"client":"{name}",'.encode()
    # White space of JSON: a line feed within a text is escaped.
    raw = payload.replace(b"\n", b" ").replace(b"\r", b" ")
    # It begins with a line feed: a line that was cut off when the disk was full spoils no other.
    return head + (b'"payload":' + (raw or b"null") if len(raw) <= MOST_RAW else _cut(payload)) + b"}\n"


def _cut(payload: bytes) -> bytes:
    import json

    try:
        given = json.loads(payload) if len(payload) <= MOST_INPUT else None
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, dict):
        fields = json.dumps(kept(given), separators=(",", ":")).encode()
        if len(fields) <= MOST_LINE:
            return b'"kept":' + fields
    return b'"broken":true'


def _session(payload: bytes) -> str:
    """The session that a payload names at its beginning. A name within a text has its quotes escaped."""
    _, _, rest = payload[:4_096].decode("utf-8", "replace").partition('"session_id"')
    colon, quote, rest = rest.partition('"')
    return rest.partition('"')[0] if quote and colon.strip() == ":" else ""


def _shortened(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    end = MOST_TEXT // 4
    return f"{text[: MOST_TEXT - end]}\n… {len(text) - MOST_TEXT} characters left out …\n{text[-end:]}"


def _hashed(text: str) -> str:
    import hashlib

    return "x" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32] if text else "unknown"


def standard_input() -> bytes:
    """The payload that a client sends, for as long as it may take."""
    parts, size, end = [], 0, time.monotonic() + _SECONDS
    while size <= MOST_INPUT and select.select([0], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(0, 1 << 20)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


if __name__ == "__main__":
    try:
        append(sys.argv[1], sys.argv[2], standard_input())
    finally:
        # Whatever happened, the session goes on.
        os._exit(0)
