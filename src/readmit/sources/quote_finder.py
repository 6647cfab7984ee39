"""Finds a quote again: the whole of a file, some lines of it, or the definition of a symbol."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from readmit.records.base import shown
from readmit.records.canonical import digest_of
from readmit.records.error_types import GoneError, ProbeError, RecordError
from readmit.records.probes import FileProbe, Finding, GitProbe
from readmit.sources.look import LookDeadline, compared, evidence_text
from readmit.sources.prober import ProbeResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


Placed: TypeAlias = FileProbe | GitProbe

ANCHOR = 16
"""Hexadecimal digits of the digest of a neighboring line."""
# An edited quote is looked for between its old neighbors; neighbors further apart than this are other lines.
_ROOM = 4, 40
_WORDY = re.compile(rb"\w")


class FoundQuote(NamedTuple):
    """Some bytes of a file, and the fields of a probe that find them again."""

    data: bytes
    place: dict[str, int | str]


class FileLines:
    """The lines of a file, by number from 1, without copying them."""

    def __init__(self, data: bytes) -> None:
        pieces = data.split(b"\n")
        if not pieces[-1]:
            pieces.pop()
        self.data = data
        self.count = len(pieces)
        self.starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]

    def __getitem__(self, number: int) -> bytes:
        return self.between(number, number)

    def between(self, first: int, last: int) -> bytes:
        """The lines from first to last, without the line break of the last."""
        return self.data[self.starts[first - 1] : self.starts[last] - 1]

    def of_size(self, count: int, size: int) -> Iterator[int]:
        """The numbers at which ``count`` lines of ``size`` bytes begin."""
        for number in range(1, self.count - count + 2):
            if self.starts[number + count - 1] - 1 - self.starts[number - 1] == size:
                yield number

    def anchor(self, number: int, step: int) -> str:
        """The nearest non-blank line, from ``number`` upwards or downwards; empty at an end of the file."""
        while 1 <= number <= self.count:
            if line := self[number].strip():
                return digest_of(line)[:ANCHOR]
            number += step
        return ""

    def quote(self, first: int, last: int) -> FoundQuote:
        data = self.between(first, last)
        return FoundQuote(
            data,
            {
                "first": first,
                "last": last,
                "size": len(data),
                "before": self.anchor(first - 1, -1),
                "after": self.anchor(last + 1, 1),
            },
        )


def line_range(lines: str) -> tuple[int, int]:
    """The first and last line that a caller means by 10-20 or 10."""
    first, dash, last = lines.partition("-")
    try:
        start, end = int(first), int(last if dash else first)
    except ValueError:
        start, end = 0, 0
    if not 1 <= start <= end:
        raise RecordError(f"lines: {shown(lines)} is not a range of lines; write it as 10-20, counted from 1")
    return start, end


def quoted_part(path: str, data: bytes, *, lines: str, symbol: str) -> FoundQuote:
    """The part of a file that a caller wants to capture."""
    if lines and symbol:
        raise RecordError("symbol: give either a symbol or lines")
    if symbol:
        return FoundQuote(definition(path, data, symbol), {"symbol": symbol})
    if not lines:
        return FoundQuote(data, {})
    first, last = line_range(lines)
    whole = FileLines(data)
    if last > whole.count:
        raise ProbeError(f"lines: {path} has {whole.count} lines; {lines} is beyond them")
    return whole.quote(first, last)


def worded_part(path: str, data: bytes, quote: str) -> FoundQuote:
    """Words of a file, wherever they stand. They are gone if the file does not have them."""
    if not holds_words(data, quote):
        raise GoneError(f"{path} does not say {shown(quote)}")
    return FoundQuote(quote.encode(), {})


def holds_words(data: bytes, quote: str) -> bool:
    """Whether some words stand in a file one after the other, as whole words, whatever white space is between them."""
    words = quote.encode().split()
    if not words or _holds(data, b" ".join(words)):
        return bool(words)
    if len(words) == 1:
        return False
    # To compile a pattern takes longer than to search a file, so only words that are apart in another way get one.
    start = rb"(?<!\w)" if _WORDY.match(words[0]) else b""
    end = rb"(?!\w)" if _WORDY.match(words[-1][-1:]) else b""
    return re.search(start + rb"\s+".join(map(re.escape, words)) + end, data) is not None


def _holds(data: bytes, words: bytes) -> bool:
    """Whether exactly these bytes stand in a file, as whole words."""
    starts, ends = _WORDY.match(words), _WORDY.match(words[-1:])
    at = data.find(words)
    while at >= 0:
        after = at + len(words)
        within = (starts and at and _WORDY.match(data[at - 1 : at])) or (ends and _WORDY.match(data[after : after + 1]))
        if not within:
            return True
        at = data.find(words, at + 1)
    return False


@lru_cache(maxsize=4)
def _lines_of(data: bytes) -> FileLines:
    """The lines of a file. A memory file has a probe for each of them."""
    return FileLines(data)


def found_again(probe: Placed, data: bytes, deadline: LookDeadline) -> ProbeResult:
    """The result of looking for a captured part of a file: unchanged, moved, changed or gone."""
    if isinstance(probe, FileProbe) and probe.quote:
        return compared(probe, worded_part(probe.path, data, probe.quote).data)
    if probe.symbol:
        return compared(probe, definition(probe.path, data, probe.symbol))
    if not probe.first:
        return compared(probe, data)
    lines = _lines_of(data)
    if probe.last <= lines.count and digest_of(lines.between(probe.first, probe.last)) == probe.digest:
        return ProbeResult(Finding.UNCHANGED, probe)
    quote = _elsewhere(probe, lines, deadline)
    if quote is not None:
        return ProbeResult(Finding.MOVED, msgspec.structs.replace(probe, **quote.place))
    quote = _edited(probe, lines, deadline)
    text = evidence_text(quote.data)
    return ProbeResult(
        Finding.CHANGED, msgspec.structs.replace(probe, digest=digest_of(quote.data), **quote.place), text
    )


def _elsewhere(probe: Placed, lines: FileLines, deadline: LookDeadline) -> FoundQuote | None:
    """The captured lines at another place, the nearest one if there are several."""
    count = probe.last - probe.first + 1
    for number in _nearest(lines.of_size(count, probe.size), probe.first):
        deadline.left()
        if digest_of(lines.between(number, number + count - 1)) == probe.digest:
            return lines.quote(number, number + count - 1)
    return None


def _edited(probe: Placed, lines: FileLines, deadline: LookDeadline) -> FoundQuote:
    """The lines between the old neighbors of the captured lines; the whole file if these are ambiguous."""
    count = probe.last - probe.first + 1
    anchors = [digest_of(lines[number].strip())[:ANCHOR] for number in range(1, lines.count + 1)]
    deadline.left()
    above = _numbers(anchors, probe.before) if probe.before else [0]
    below = _numbers(anchors, probe.after) if probe.after else [lines.count + 1]
    # Of several lines above, the one next to the line below.
    pairs = {below[place]: number for number in above if (place := bisect_right(below, number)) < len(below)}
    near = [(number, end) for end, number in pairs.items() if end - number - 1 <= _ROOM[0] * count + _ROOM[1]]
    if len(near) == 1 and (probe.before or probe.after):
        return _trimmed(lines, near[0][0] + 1, near[0][1] - 1)
    if not near and probe.after and len(below) == 1 and not (probe.before and above) and below[0] > 1:
        return _trimmed(lines, max(1, below[0] - count), below[0] - 1)
    if not near and probe.before and len(above) == 1 and not (probe.after and below) and above[0] < lines.count:
        return _trimmed(lines, above[0] + 1, min(above[0] + count, lines.count))
    return FoundQuote(lines.data, {"first": 0, "last": 0, "size": 0, "before": "", "after": ""})


def _trimmed(lines: FileLines, first: int, last: int) -> FoundQuote:
    while first <= last and not lines[first].strip():
        first += 1
    while first <= last and not lines[last].strip():
        last -= 1
    if first > last:
        raise GoneError("its lines were removed")
    return lines.quote(first, last)


def _numbers(anchors: Sequence[str], wanted: str) -> list[int]:
    return [number for number, anchor in enumerate(anchors, 1) if anchor == wanted]


def _nearest(numbers: Iterable[int], to: int) -> list[int]:
    return sorted(numbers, key=lambda number: abs(number - to))


def definition(path: str, data: bytes, symbol: str) -> bytes:
    """The source of every definition of a dotted name in a Python file, joined by line breaks."""
    if not path.endswith((".py", ".pyi")):
        raise ProbeError(f"symbol: {path} is not a Python file; quote lines of it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scope: list[ast.AST] = [ast.parse(data)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ProbeError(f"it cannot be parsed as Python: {type(error).__name__}") from None
    for name in symbol.split("."):
        scope = [node for outer in scope for node in _defined(outer, name)]
    if not scope:
        raise GoneError(f"it does not define {symbol}")
    lines = FileLines(data)
    return b"\n".join(lines.between(*_span(node)) for node in scope)


def _defined(outer: ast.AST, name: str) -> Iterator[ast.AST]:
    """The definitions of a name in a scope, also below its conditions, in order."""
    for node in ast.iter_child_nodes(outer):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if node.name == name:
                    yield node
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    yield node
            case ast.If() | ast.Try() | ast.With() | ast.ExceptHandler():
                yield from _defined(node, name)


def _span(node: ast.AST) -> tuple[int, int]:
    """The first and last line of a definition, with its decorators."""
    assert isinstance(node, ast.stmt)  # noqa: S101 - what _defined yields
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno
