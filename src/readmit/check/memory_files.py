"""Finds and reads memory files: Markdown, or a JSON list of statements."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.check.markdown_statements import MemorySpan, MemoryStatement, statements_in
from readmit.check.working_tree import WorkTree, repository_of
from readmit.records.canonical import without_mark
from readmit.records.error_types import CheckLimitError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


MOST_NAMES = 20_000
"""Most names, or statements of a list, in one check."""
_GAP = re.compile(r"[ \t\n\r,]*")
_TEXTS = ("text", "statement", "memory", "content", "fact", "value")


USUAL = (
    "CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", ".cursor/rules",
    ".github/copilot-instructions.md", "memory-bank",
)  # fmt: skip
"""Files in which coding agents keep their memory."""
_ENDINGS = {".md", ".mdc", ".markdown", ".json", ".txt"}
_LARGEST = 5_000_000


def memory_files(paths: Sequence[Path]) -> list[Path]:
    """The files that some paths name; of a folder, all below it that may be memory."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and one.suffix in _ENDINGS)
            if not inside:
                raise RecordError(f"{path}: no memory files there; they end in {', '.join(sorted(_ENDINGS))}")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise RecordError(f"{path}: no such file or folder")
    return list(dict.fromkeys(found))


class MemoryFiles(NamedTuple):
    """Memory files that were read, and the tree that they are about."""

    tree: WorkTree
    files: dict[str, Path]
    """By their names from the root."""
    statements: tuple[MemoryStatement, ...]

    @property
    def spans(self) -> Iterator[MemorySpan]:
        return (span for one in self.statements for span in one.spans)


def read_memories(paths: Sequence[Path], root: Path | None = None) -> MemoryFiles:
    """The memory files at some paths, and the tree below ``root``, by default the repository they are in."""
    files = memory_files(paths)
    top = (root or repository_of(files[0])).resolve()
    named_ = {_relative(file, top): file for file in files}
    statements: list[MemoryStatement] = []
    for name, file in named_.items():
        if file.stat().st_size > _LARGEST:
            raise RecordError(f"{file}: larger than {_LARGEST} bytes; this is no memory file")
        statements += read_memory(name, file.read_bytes())
    return MemoryFiles(WorkTree(top, list(named_)), named_, tuple(statements))


def _relative(file: Path, root: Path) -> str:
    real = file.resolve()
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else str(file)


def read_memory(file: str, data: bytes) -> list[MemoryStatement]:
    """The statements of a file."""
    try:
        text = without_mark(data).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise RecordError(f"{file}: not UTF-8 text (byte {error.start}); convert it first") from None
    if not file.endswith(".json"):
        return list(statements_in(file, text))
    found: list[MemoryStatement] = []
    for line, said in _listed(file, text):
        spans = (span.moved(line) for one in statements_in(file, said) for span in one.spans)
        found.append(MemoryStatement(file, line, line, "", " ".join(said.split()), tuple(spans)))
        if len(found) > MOST_NAMES:
            raise CheckLimitError(f"{file}, line {line}: more than {MOST_NAMES:,} statements; check fewer at once")
    return found


def _listed(file: str, text: str) -> Iterator[tuple[int, str]]:
    """The statements of a JSON list, each with its line."""
    decoder = json.JSONDecoder()
    at = len(text) - len(text.lstrip())
    line, counted = 1, 0
    if not text[at:].startswith("["):
        raise RecordError(f'{file}: not a JSON list of statements; write ["…", …] or [{{"text": "…"}}, …]')
    at += 1
    while True:
        at = _GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        line, counted = line + text.count("\n", counted, at), at
        if text[at : at + 1] == "]":
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise RecordError(f"{file}, line {line}: not JSON: {error}") from None
        except RecursionError:
            raise CheckLimitError(f"{file}, line {line}: nested too deeply to be read") from None
        yield line, _text_of(value, f"{file}, line {line}")


def _text_of(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for name in _TEXTS:
            if isinstance(value.get(name), str):
                return str(value[name])
    raise RecordError(f"{where}: neither a text nor an object with one of {', '.join(_TEXTS)}")
