"""With a model that the user chose: drafts from the new turns of transcripts, by the pipeline of ``readmit ingest``.

Drafts are marked, rest on the turns that they quote, and count once a person confirmed them. The turns are an
observation of kind ``tool_result`` by the client, whose transcript they are from.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.clients.intake.headless_client import LINE, HeadlessClient
from readmit.clients.intake.transcripts import load_transcripts, new_turns, save_transcripts
from readmit.clients.moments.hook_status import replace_file
from readmit.clients.project import data_folder, make_private
from readmit.inference import Inference
from readmit.inference.ingestion import conversation
from readmit.models import open_model
from readmit.records.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from readmit.clients.intake.transcripts import KnownTranscripts, NewTurns, Transcript
    from readmit.clients.project import Project
    from readmit.inference import Turn
    from readmit.models import Model
    from readmit.workspace.workspace import Workspace

TURNS = "turns-"
"""Prefix of the ids of observations from transcripts."""
VARIABLE = "READMIT_MODEL"
"""The environment variable that names a model for one process, and wins over the chosen one."""
MOST_A_DAY, MOST_OF_CLIENT = 100, 20
"""Most requests for one project and day: to a model, and to a client of the user's. The next day reads on."""
_TOGETHER = 12_000
"""Most characters of turns in one request."""


class TranscriptReading(NamedTuple):
    """One reading of transcripts by a model, in numbers."""

    turns: int = 0
    requests: int = 0
    items: int = 0
    failed: str = ""
    """Why reading stopped; empty if it did not. The next one reads on there."""


def chosen_model() -> str:
    """The model's line that the user chose, or that the environment names; empty if none."""
    if (given := os.environ.get(VARIABLE)) is not None:
        return given
    with suppress(OSError, ValueError):
        settings = json.loads(_settings().read_bytes())
        line = settings.get("model") if isinstance(settings, dict) else None
        return line if isinstance(line, str) else ""
    return ""


def choose_model(line: str) -> None:
    """Choose the model that reads transcripts of all projects; an empty line for none."""
    make_private(data_folder())
    replace_file(_settings(), json.dumps({"model": line}).encode())


def opened(line: str) -> Model:
    """The model that a line names: any of ``readmit.models``, or a client of the user's."""
    if line.startswith(LINE):
        return HeadlessClient(line.removeprefix(LINE))
    return open_model(line)


def read_transcripts(
    workspace: Workspace, project: Project, model: Model | str, *, deadline: float | None = None
) -> TranscriptReading:
    """Read what is new in the transcripts of a project's sessions, and record drafts of what the user said there.

    How far each was read is saved after every request, so a process that is killed repeats one at most, with the same
    result.
    """
    known, found = _of_today(load_transcripts(project)), TranscriptReading()
    if is_client := isinstance(model, str) and model.startswith(LINE):
        model = opened(str(model))
    most = MOST_OF_CLIENT if is_client else MOST_A_DAY
    # Newest first: what was said last is what the next session needs.
    for path, one in sorted(known.files.items(), key=lambda file: -file[1].since):
        new, seen = new_turns(path, one)
        # Opened only if there is something to ask.
        for part, end in _parts(new):
            late = deadline is not None and time.monotonic() > deadline
            if late or known.asked >= most:
                return found._replace(failed="no time left" if late else f"{most} requests were made today")
            known.asked += 1
            save_transcripts(project, known)
            items, failure = _draft(workspace, model, part, seen)
            if failure:
                return found._replace(failed=failure)
            found = found._replace(
                turns=found.turns + len(part), requests=found.requests + 1, items=found.items + items
            )
            known.files[path] = seen = msgspec.structs.replace(seen, offset=end)
            save_transcripts(project, known)
        if new.end != one.offset:
            known.files[path] = msgspec.structs.replace(seen, offset=new.end)
            save_transcripts(project, known)
    return found


def _draft(workspace: Workspace, model: Model | str, turns: Sequence[Turn], of: Transcript) -> tuple[int, str]:
    """Draft items from turns. Returns their number, and why there are none, if the model gave no answer."""
    text = conversation(turns)
    name = f"{TURNS}{digest((of.session, of.offset, of.file, len(text)))[:32]}"
    client = workspace.principal(of.client)
    seen = client.observe(text, id=name, source="tool_result", task=of.task)
    with Inference(client, extractor=model) as inference:
        (done,) = inference.ingest([seen], by=of.client, turns={seen: list(turns)}, task=of.task)
    return len(done.items), done.failure


def _parts(new: NewTurns) -> Iterator[tuple[list[Turn], int]]:
    """The turns in parts that fit a request, each with the place after it.

    A part without a word of the user gives no drafts and costs no request.
    """
    part: list[Turn] = []
    size = last = 0
    for end, turn in new.turns:
        if part and size + len(turn.text) > _TOGETHER:
            if any(one.by == "user" for one in part):
                yield part, last
            part, size = [], 0
        part.append(turn)
        size, last = size + len(turn.text), end
    if any(one.by == "user" for one in part):
        yield part, new.end


def _of_today(known: KnownTranscripts) -> KnownTranscripts:
    today = datetime.now(UTC).date().isoformat()
    return known if known.day == today else msgspec.structs.replace(known, day=today, asked=0)


def _settings() -> Path:
    return data_folder() / "settings.json"
