"""Recorded answers, for examples, tests and repeated measurements.

A store is a file of answer lines, or a directory of such files; the output of a batch is one too. A request without a
recorded answer is an error, never a guess. ``Recorder`` writes such a store from a real model's answers.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from readmit.models.answers import AnswerEntry, Answers, read_answers, result_of
from readmit.models.chat import response_body
from readmit.models.jsonl import Addressed
from readmit.models.protocols import Closable, ModelWrapper, Reply
from readmit.plugins import require_package
from readmit.records.error_types import ModelError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Ask, Failure, Model


class Recorded(Closable):
    """A model that gives recorded answers only."""

    def __init__(self, path: str | Path, *, model: str | None = None) -> None:
        """Read the store. ``model`` names the answering model, if the store does not."""
        self._path = Path(path)
        self._answers = _read(self._path)
        self.name = model or _only_model(self._answers, self._path)

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """The recorded answers, or ``UnknownError`` for the first request that has none."""
        found = [self._find(ask) for ask in asks]
        missing = [ask for ask, entry in zip(asks, found, strict=True) if entry is None]
        if missing:
            first = missing[0]
            more = f" (and {len(missing) - 1} more requests)" if len(missing) > 1 else ""
            raise UnknownError(
                f"{self._path}: no recorded answer for prompt {first.prompt} of stage {first.stage}, "
                f"model {self.name}, digest {first.digest(self.name)}{more}; record one with a real model"
            )
        return [result_of(ask, entry) for ask, entry in zip(asks, found, strict=True) if entry is not None]

    def _find(self, ask: Ask) -> AnswerEntry | None:
        # A batch directory is addressed by keys unless it is shared; a recorder writes digests.
        return self._answers.answer(ask.key(self.name)) or self._answers.answer(ask.digest(self.name))


class Recorder(ModelWrapper):
    """A model whose answers are written to a store as they come. Stored answers are not replaced."""

    def __init__(self, model: Model, path: str | Path) -> None:
        """Record ``model`` into the file ``path``."""
        require_package("filelock", "models", ModelError)
        super().__init__(model)
        self._file = Addressed(Path(path))
        # Threads share the file's state.
        self._writing = threading.Lock()

    def ask(self, asks: Sequence[Ask]) -> Sequence[Reply | Failure]:
        """Ask the model, and keep every answer. Failures are passed on, not kept."""
        results = self._model.ask(asks)
        lines = {
            (address := ask.digest(self.name)): self._line(address, ask, result)
            for ask, result in zip(asks, results, strict=True)
            if isinstance(result, Reply)
        }
        if lines:
            with self._writing:
                self._file.append_missing(lines)
        return results

    def _line(self, address: str, ask: Ask, reply: Reply) -> bytes:
        return msgspec.json.encode(
            {
                "custom_id": address,
                "model": self.name,
                "prompt": ask.prompt,
                "stage": ask.stage,
                "response": {"status_code": 200, "body": response_body(reply)},
                "error": None,
            }
        )


def _read(path: Path) -> Answers:
    paths = [path] if path.is_file() else sorted(path.glob("*.jsonl"))
    # A batch directory holds its requests beside the answers.
    answers = read_answers(found for found in paths if found.name != "requests.jsonl")
    if not paths:
        raise ModelError(f"{path}: no recorded answers there; give a .jsonl file or a directory of them")
    unreadable = (*answers.malformed, *answers.incomplete)
    if unreadable:
        raise ModelError(f"{path}: not a recorded answer: {', '.join(unreadable[:5])}; remove or fix these lines")
    for entries in answers.entries.values():
        texts = {entry.text for entry in entries if not entry.error}
        if len(texts) > 1:
            places = " and ".join(entry.where for entry in entries)
            raise ModelError(f"{path}: different answers to one request, in {places}; keep one of them")
    return answers


def _only_model(answers: Answers, path: Path) -> str:
    names = {entry.model for entries in answers.entries.values() for entry in entries} - {None}
    if len(names) != 1:
        said = f"of {len(names)} models" if names else "of a model they do not name"
        raise ModelError(f"{path}: answers {said}; say which with recorded:{path}?model=NAME")
    return str(names.pop())
