"""Forgetting beside the store of a coding agent's project: in the spool, and in the small files that hold its texts.

What readmit itself keeps is taken out. What belongs to others is named: memory files that still say it, transcripts,
and files of a model's answers.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from readmit.clients.intake.model_drafts import chosen_model
from readmit.clients.intake.spool_content import content_of
from readmit.clients.intake.spool_files import read_claimed, replace_rest, spool_lines
from readmit.clients.intake.transcripts import load_transcripts
from readmit.clients.memory_lines import load_lines, save_lines
from readmit.clients.project import Project, data_folder, project_of, spool_folder
from readmit.clients.take_in import alone
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from readmit.clients.intake.spool_files import SpoolLine

_LARGEST = 64 << 20
_PATIENCE = 60.0
_SHORTEST = 12
"""A shorter text is only found where it is the whole: as a part of others it would be found everywhere."""


class Beside:
    """Files beside the store of a project, under the locks of take-in and import. None for another store."""

    def __init__(self, project: Project | None) -> None:
        self._project = project
        self._locks = ExitStack()

    @classmethod
    def of(cls, store: str) -> Self:
        """The project whose store this is, as far as the store's place tells."""
        place = Path(store).absolute()
        if place.parent.parent != data_folder() / "projects" or place.name != "store.db":
            return cls(None)
        return cls(Project(place.parent.name, Path(), Path(), "", place.parent))

    def __enter__(self) -> Self:
        """Wait for a take-in or an import that is under way: it may be about to write the text again."""
        end = time.monotonic() + _PATIENCE
        for name in () if self._project is None else ("spool.lock", "memory.lock"):
            while not self._locks.enter_context(alone(self._locked(name))):
                if time.monotonic() > end:
                    self._locks.close()
                    raise StoreError("forget: what sessions did is being taken in; repeat it in a minute")
                time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    def forget(self, texts: Collection[str], items: Collection[str]) -> tuple[str, ...]:
        """Take texts out of the files beside the store. ``items`` are ids of items that went.

        Returns the places that may still hold them.
        """
        return () if self._project is None else _forget(self._project, texts, items)

    def _locked(self, name: str) -> Path:
        assert self._project is not None  # noqa: S101 - only asked for one
        return self._project.folder / name


def _forget(project: Project, texts: Collection[str], items: Collection[str]) -> tuple[str, ...]:
    left = list(_forget_lines(project, texts, set(items)))
    for path in (*spool_folder().glob("*.jsonl"), *(project.folder / "spool").glob("*.jsonl")):
        left += _forget_spooled(path, texts)
    _forget_sessions(project)
    # Which version of a file each probe was found in: a probe holds the digest of its text.
    (project.folder / "looks.json").unlink(missing_ok=True)
    own = [path for path in project.folder.rglob("*") if path.is_file() and not path.name.startswith("store.db")]
    for path in own:
        if _holds(path, texts) and path.parent == project.folder:
            path.unlink()
        elif _holds(path, texts):
            left.append(str(path))
    left += [path for path in load_transcripts(project).files if _holds(Path(path), texts)]
    kind, _, place = chosen_model().partition(":")
    return tuple(dict.fromkeys((*left, *([place.partition("?")[0]] if kind in ("recorded", "batch") else ()))))


def _forget_lines(project: Project, texts: Collection[str], items: Collection[str]) -> Iterator[str]:
    """Forget which lines of memory files had these items, and name the files that still have the lines."""
    for path in (project.folder / "memory").glob("*.json"):
        known, changed = load_lines(path), False
        files = {}
        for name, file in known.files.items():
            gone = [line for line in file.lines if line.item in items or _is_within(line.text, texts)]
            files[name] = replace(file, lines=tuple(line for line in file.lines if line not in gone))
            changed = changed or bool(gone)
            yield from (f"{file.path}:{line.first}" for line in gone if Path(file.path).exists())
        if changed:
            save_lines(path, replace(known, files=files))


def _forget_spooled(path: Path, texts: Collection[str]) -> Iterator[str]:
    """Take lines that hold one of the texts out of a spool file. Names the file if a hook is writing to it now."""
    with suppress(OSError):
        if (data := read_claimed(path)) is None:
            yield str(path)
            return
        lines = list(spool_lines(data))
        kept = [line for line in lines if line is not None and not _tells(line, texts)]
        if len(kept) < len(lines):
            # Lines that cannot be read go too: nobody can say what they hold.
            replace_rest(path, kept)


def _tells(line: SpoolLine, texts: Collection[str]) -> bool:
    """Whether a line holds one of the texts, or part of one: several lines are one observation."""
    content = content_of(line)
    if any(part and part in text for part in (content.said, content.done) for text in texts):
        return True
    with suppress(ValueError, RecursionError):
        return any(_is_within(one, texts) for one in _strings(json.loads(line.raw)))
    return True


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _is_within(said: str, texts: Iterable[str]) -> bool:
    return any(text == said or (len(text) >= _SHORTEST and text in said) for text in texts)


def _forget_sessions(project: Project) -> None:
    """Forget what sessions of the project hold: it names words of files. Their prompts are silent until a start."""
    for path in (data_folder() / "sessions").glob("*.json"):
        with suppress(OSError, ValueError, TypeError, KeyError):
            if project_of(Path(json.loads(path.read_bytes())["cwd"])).key == project.key:
                path.unlink()


def _holds(path: Path, texts: Iterable[str]) -> bool:
    with suppress(OSError):
        if path.stat().st_size > _LARGEST:
            return True
        data = path.read_bytes()
        plain = (form for text in texts if len(text) >= _SHORTEST for form in (text, json.dumps(text)[1:-1]))
        return any(form.encode("utf-8", "surrogatepass") in data for form in plain)
    return False
