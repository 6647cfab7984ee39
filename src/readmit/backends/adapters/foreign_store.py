"""Parts that the adapters to Mem0 and A-MEM share: guarded native calls, and readmit's model as they ask it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from readmit.models.protocols import Ask, Failure, Model, read_json
from readmit.records.base import require_name
from readmit.records.error_types import BackendError, ReadmitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.backends.store_lines import Site

T = TypeVar("T")


class ForeignStore(ABC):
    """A store of another package, on disk or passed in. One call at a time; any failure becomes a ``BackendError``."""

    open: Any
    """A class method: makes or opens a store in a folder."""

    def __init__(self, kind: str, name: str, workspace: str, lock: threading.RLock | None = None) -> None:
        self.workspace = require_name("workspace", workspace)
        self.name = f"{kind}:{require_name('name', name)}"
        self._lock = lock or threading.RLock()
        self._closed = False

    @classmethod
    def at(cls, site: Site) -> Self:
        """The store that a line names, as ``mem0:FOLDER``."""
        made: Self = cls.open(site.place(), site.workspace, embedder=site.needed_embedder(), model=site.model)
        return made

    @contextmanager
    def _native(self, what: str) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise BackendError(f"{self.name} is closed; open it again")
            self._begin()
            try:
                yield
            except ReadmitError:
                raise
            except Exception as error:
                cause = error.__cause__ if isinstance(error.__cause__, ReadmitError) else None
                raise cause or BackendError(f"{self.name}: {what} failed: {type(error).__name__}: {error}") from error

    @abstractmethod
    def _begin(self) -> None:
        """Forget the failures of earlier calls."""

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._release()

    @abstractmethod
    def _release(self) -> None:
        """Close the files that this object opened. A store that was passed in is closed by its owner."""


class FormingModel:
    """readmit's model in the place of the store's own. No usable answer is an error, which the store may swallow."""

    prompt: str
    """Name and version of the store's prompt."""
    missing: str
    """The error without a model."""
    shape: str
    """The form of an answer."""

    def __init__(self, model: Model | None, workspace: str, max_tokens: int) -> None:
        self.failed: BackendError | None = None
        """The last failure, until the adapter checks."""
        self._model = model
        self._workspace = workspace
        self._max_tokens = max_tokens

    def _answered(self, system: str, user: str, schema: Any, kind: type[T]) -> tuple[str, T]:
        """The answer as it is, and as a value of ``kind``."""
        if self._model is None:
            raise self._failure(self.missing)
        ask = Ask(
            stage="memory",
            prompt=self.prompt,
            system=system,
            user=user,
            schema=msgspec.json.encode(schema) if schema else b"",
            max_tokens=self._max_tokens,
            workspace=self._workspace,
        )
        (answer,) = self._model.ask([ask])
        if isinstance(answer, Failure):
            raise self._failure(f"{answer.fault}: {answer.message}; no memory was formed")
        found = read_json(answer.text, kind)
        if found is None:
            raise self._failure(f"the answer is not {self.shape}; no memory was formed")
        return answer.text, found

    def _failure(self, message: str) -> BackendError:
        self.failed = BackendError(f"model: {message}")
        return self.failed
