"""Guards against losses in A-MEM: notes that it drops while it writes, and folders open in two processes.

A-MEM changes a note by deleting it and adding it again, and only prints if the second step fails: because the embedder
is down, or because a content that looks like a list was read as one. While it forms a note it does this to the nearest
others. So these notes are remembered first, and put back if they are missing afterwards.

Two processes must not have one folder open: Chroma's index in one of them silently lacks the other's notes.
"""

from __future__ import annotations

import fcntl
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NEIGHBORS = 5
"""How many notes A-MEM looks at, and may change, when it forms one."""
_PARTS = ["metadatas", "documents", "embeddings"]


class RememberedNotes(NamedTuple):
    """Notes as they were before a write."""

    ids: Sequence[str]
    metadatas: Sequence[dict[str, Any]]
    documents: Sequence[str]
    embeddings: Sequence[Any]

    @classmethod
    def near(cls, collection: Any, text: str) -> Self:
        """The notes that A-MEM will look at."""
        found = collection.query(query_texts=[text], n_results=NEIGHBORS, include=_PARTS)
        return cls(found["ids"][0], *(found[part][0] for part in _PARTS))

    @classmethod
    def of(cls, collection: Any, record: str) -> Self:
        """One note."""
        found = collection.get(ids=[record], include=_PARTS)
        return cls(found["ids"], *(found[part] for part in _PARTS))

    def restore(self, collection: Any) -> None:
        """Put back the notes that are missing, or whose content is another one."""
        if not self.ids:
            return
        try:
            held = collection.get(ids=list(self.ids), include=["metadatas"])
            contents = {
                name: metadata.get("content") for name, metadata in zip(held["ids"], held["metadatas"], strict=True)
            }
            lost = [at for at, name in enumerate(self.ids) if contents.get(name) != self.metadatas[at].get("content")]
            if lost:
                parts = ("ids", "metadatas", "documents", "embeddings")
                collection.upsert(**{part: [getattr(self, part)[at] for at in lost] for part in parts})
        except Exception as error:
            raise BackendError(
                f"A-MEM may have lost notes while it changed them, and they could not be put back ({error}): "
                f"{', '.join(self.ids)}. See which are gone with review or adopt, and load those from an archive"
            ) from error


class HeldFolder:
    """A folder that only this process has open. A process may open it several times: Chroma shares the index there."""

    _guard = threading.Lock()
    _open: dict[Path, tuple[int, int]] = {}  # noqa: RUF012 - shared on purpose: file locks belong to the process

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._held = False
        with self._guard:
            file, times = self._open.get(self._folder, (-1, 0))
            self._open[self._folder] = (file if times else _locked(self._folder), times + 1)
            self._held = True

    def release(self) -> None:
        """Let another process open it. A second call is harmless."""
        with self._guard:
            if self._held:
                self._held = False
                file, times = self._open.pop(self._folder)
                if times > 1:
                    self._open[self._folder] = (file, times - 1)
                else:
                    os.close(file)


def _locked(folder: Path) -> int:
    try:
        file = os.open(folder / "readmit.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise
    except BlockingIOError as error:
        raise BackendError(
            f"path: {folder} is open in another process, and Chroma would not show what that one writes. Close it "
            "there, or give both a Chroma server through AMem.over"
        ) from error
    except OSError as error:
        raise BackendError(f"path: {folder} cannot be locked: {error.strerror}; see that it is yours") from error
    return file
