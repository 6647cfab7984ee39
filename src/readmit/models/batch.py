"""A model that answers through files: requests out, answers in.

A request without an answer is appended to ``DIR/requests.jsonl`` in the OpenAI batch format, and the run stops with
``PendingAnswers``. Answers are read from ``DIR/responses*.jsonl``; the same run, started again, continues from there.
There may be any number of rounds and processes, and answers may be written while they are read.
"""

from __future__ import annotations

import logging
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from readmit.models.answers import Answers, read_answers, result_of
from readmit.models.chat import Dialect, Limit, model_of, request_body
from readmit.models.jsonl import Addressed, id_in, read_lines
from readmit.models.protocols import Closable, read_json
from readmit.plugins import require_package
from readmit.records.error_types import ModelError, PendingAnswers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models.answers import AnswerEntry
    from readmit.models.protocols import Ask, Failure, Reply

logger = logging.getLogger("readmit")
REQUESTS = "requests.jsonl"
RESPONSES = "responses*.jsonl"
URL = "/v1/chat/completions"


class _Body(msgspec.Struct):
    model: str


class _Request(msgspec.Struct):
    body: _Body


class Batch(Closable):
    """The model ``name``, whose answers come by file.

    Requests are addressed by their key, which holds the workspace: two workspaces that use one directory
    share nothing. One directory is for one model. With ``shared``, equal requests are asked once for all
    workspaces; that is for measurements on public data.
    """

    def __init__(
        self,
        directory: str | Path,
        model: str,
        *,
        shared: bool = False,
        temperature: float | None = None,
        limit: Limit = "max_completion_tokens",
    ) -> None:
        """Open a batch directory. It is created with the first request that has no answer."""
        require_package("filelock", "models", ModelError)
        self.name = model
        self.directory = Path(directory)
        self._shared = shared
        self._dialect = Dialect(temperature=temperature, limit=limit)
        self._seen: dict[Path, tuple[int, int]] = {}
        self._answers = Answers(entries={})
        self._requests = Addressed(self.directory / REQUESTS, self._require_own)
        self._warned: set[str] = set()
        # Many threads may ask at once; each continues from the files as the previous one left them.
        self._looking = threading.Lock()

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """Every answer, or ``PendingAnswers`` after the unanswered requests are safely in the file."""
        ids = [ask.digest(self.name) if self._shared else ask.key(self.name) for ask in asks]
        with self._looking:
            answers = self._current()
            found = [answers.answer(custom_id) for custom_id in ids]
            unanswered = {
                custom_id: self._line(custom_id, ask)
                for custom_id, ask, entry in zip(ids, asks, found, strict=True)
                if entry is None
            }
            if unanswered:
                self._requests.append_missing(unanswered)
                waiting = len(self._requests.ids - answers.entries.keys() - {None})
                raise PendingAnswers(waiting, str(self.directory))
        return [result_of(ask, entry) for ask, entry in zip(asks, found, strict=True) if entry is not None]

    def _line(self, custom_id: str, ask: Ask) -> bytes:
        body = request_body(ask, self.name, self._dialect)
        return msgspec.json.encode({"custom_id": custom_id, "method": "POST", "url": URL, "body": body})

    def _require_own(self, line: bytes) -> None:
        """Refuse a directory whose requests ask another model: a batch service runs a file on one model."""
        other = _asked(line)
        if other not in (None, self.name):
            raise ModelError(
                f"{self.directory}: holds requests to the model {other!r}, and {self.name!r} is asked now; "
                f"give each model a directory of its own: batch:OTHER?model={self.name}"
            )

    def _current(self) -> Answers:
        seen = {path: _version(path) for path in self.directory.glob(RESPONSES)}
        if seen != self._seen:
            self._answers, self._seen = read_answers(seen), seen
            for problem in _mixed(self._answers):
                if problem.where not in self._warned:
                    self._warned.add(problem.where)
                    logger.warning("%s: %s: %s", self.directory, problem.where, problem.message)
        return self._answers


class BatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a batch directory."""

    directory: str
    requests: int
    answered: int
    failed: int
    """Requests whose only answers are errors. A later answer to the same id replaces the error."""
    waiting: int


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A line or file of a batch directory that needs attention."""

    kind: str
    where: str
    custom_id: str = ""
    message: str


class BatchCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a batch directory, and its problems."""

    status: BatchStatus
    problems: tuple[Problem, ...]
    repeated: int = 0
    """Answers given more than once with the same text. Harmless."""

    @property
    def ok(self) -> bool:
        """Whether there are no problems. Waiting is not one."""
        return not self.problems


def batch_status(directory: str | Path) -> BatchStatus:
    """Count requests, answers, failures and unanswered requests."""
    folder = _existing(directory)
    answers = read_answers(folder.glob(RESPONSES))
    found = [answers.answer(custom_id) for custom_id in _requests(folder)]
    return BatchStatus(
        directory=str(folder),
        requests=len(found),
        answered=sum(entry is not None and not entry.error for entry in found),
        failed=sum(entry is not None and bool(entry.error) for entry in found),
        waiting=sum(entry is None for entry in found),
    )


def check_batch(directory: str | Path) -> BatchCheck:
    """Look at every line of every file."""
    folder = _existing(directory)
    answers = read_answers(folder.glob(RESPONSES))
    requests = _requests(folder)
    problems = [*_request_problems(folder)]
    problems += _mixed(answers)
    problems += [
        Problem(kind="malformed", where=where, message="not a batch answer line; it is ignored")
        for where in answers.malformed
    ]
    problems += [
        Problem(kind="incomplete", where=where, message="half a line: still being written, or its writer died")
        for where in answers.incomplete
    ]
    repeated = 0
    for custom_id, entries in answers.entries.items():
        good = [entry for entry in entries if not entry.error]
        if custom_id not in requests:
            message = "answers no request of this directory; it is ignored"
            problems.append(Problem(kind="unknown", where=entries[0].where, custom_id=custom_id, message=message))
        elif not good:
            message = f"{entries[-1].error}; the request counts as failed until a later line answers it"
            problems.append(Problem(kind="error", where=entries[-1].where, custom_id=custom_id, message=message))
        repeated += sum(entry.text == good[0].text for entry in good[1:])
        for entry in good[1:]:
            if entry.text != good[0].text:
                message = f"answers differently than {good[0].where}, which counts; remove one of them"
                problems.append(Problem(kind="conflict", where=entry.where, custom_id=custom_id, message=message))
    return BatchCheck(status=batch_status(folder), problems=tuple(problems), repeated=repeated)


def unanswered_requests(directory: str | Path) -> Iterator[bytes]:
    """The request lines that have no answer yet, to send next."""
    folder = _existing(directory)
    answers = read_answers(folder.glob(RESPONSES))
    for custom_id, line in _requests(folder).items():
        if answers.answer(custom_id) is None:
            yield line


def _version(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError:
        # Its writer is replacing it right now; the next request reads it again.
        return (0, 0)
    return (stat.st_size, stat.st_mtime_ns)


def _existing(directory: str | Path) -> Path:
    folder = Path(directory)
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such directory; a run with a batch model makes it when it first asks")
    return folder


def _requests(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for _, line in read_lines(folder / REQUESTS).whole:
        custom_id = id_in(line)
        if custom_id is not None:
            found.setdefault(custom_id, line)
    return found


def _mixed(answers: Answers) -> list[Problem]:
    """The first answer of every model but the one that answered first."""
    first: dict[str, AnswerEntry] = {}
    for entries in answers.entries.values():
        for entry in entries:
            if not entry.error and (name := entry.model or model_of(entry.body)):
                first.setdefault(name, entry)
    names = iter(first)
    usual = next(names, "")
    return [
        Problem(
            kind="models",
            where=first[name].where,
            custom_id=first[name].custom_id,
            message=f"answered by {name!r}, while {first[usual].where} is by {usual!r}; use one model in one directory",
        )
        for name in names
    ]


def _asked(line: bytes) -> str | None:
    """The model that a request asks."""
    request = read_json(line, _Request)
    return None if request is None else request.body.model


def _request_problems(folder: Path) -> Iterator[Problem]:
    lines = read_lines(folder / REQUESTS)
    seen: set[str] = set()
    usual: str | None = None
    for number, line in lines.whole:
        where = f"{REQUESTS}:{number}"
        custom_id = id_in(line)
        if custom_id is None:
            yield Problem(kind="malformed", where=where, message="not a request line; remove it before sending")
        elif custom_id in seen:
            yield Problem(kind="duplicate", where=where, custom_id=custom_id, message="asked twice; remove one line")
        elif not re.fullmatch(r"[0-9a-f]{64}", custom_id):
            yield Problem(kind="foreign", where=where, custom_id=custom_id, message="not written by readmit")
        elif (name := _asked(line)) != (usual := usual or name):
            message = f"asks the model {name!r}, and lines before it {usual!r}; use one directory for each"
            yield Problem(kind="models", where=where, custom_id=custom_id, message=message)
        seen.add(custom_id or "")
    if lines.torn is not None:
        message = "half a line, left by a run that died; the next run removes it"
        yield Problem(kind="incomplete", where=f"{REQUESTS}:{lines.torn}", message=message)
