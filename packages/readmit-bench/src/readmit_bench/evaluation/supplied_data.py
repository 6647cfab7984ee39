"""Pairs and filler of any data, for measuring proposals on them.

Pairs are JSON Lines: ``id``, ``old`` and ``new`` (the two texts), and optionally

* ``premises`` (what ``old`` rests on) and ``implied`` (facts that ``new`` implies), lists of texts, for the signal that
  compares the two;
* ``places``, two session numbers below 50, where the texts stand in a history; drawn from the id where they lack, the
  old one among the first fifteen;
* ``invalidates``: a line that says false, as in a file of labelled pairs, is no pair and is passed over.

Lines with the fields of STALE are read as its pairs, of both types. Other fields of a line are ignored.

Filler is a folder of unrelated sessions: a ``.txt`` file is one; a ``.jsonl`` file has one a line, ``text`` and
optionally ``implied``; of Memora's session files, loose or in a ``.tar.xz``, those without a memory are taken.
"""

from __future__ import annotations

import random
import tarfile
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from readmit.errors import RecordError
from readmit_bench.evaluation.development import FILLER_CHARS, Filler, Implied, StalePair, memora_text, read_lines
from readmit_bench.evaluation.histories import SESSIONS, histories
from readmit_bench.evaluation.proposals import MODEL_FREE, SIGNALS, Vectorizer, measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from readmit.models import Embedder
    from readmit_bench.evaluation.proposals import Recall

FIRST_PLACES = 15

Text = Annotated[str, msgspec.Meta(min_length=1)]
Place = Annotated[int, msgspec.Meta(ge=0, lt=SESSIONS)]


class GivenPair(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a file of pairs."""

    id: Text
    old: Text
    new: Text
    premises: tuple[Text, ...] = ()
    implied: tuple[Text, ...] = ()
    places: tuple[Place, Place] | None = None
    invalidates: bool = True

    def __post_init__(self) -> None:
        if self.places is not None and self.places[0] >= self.places[1]:
            raise ValueError(f"places: {list(self.places)} do not run forward in time")

    def placed(self) -> tuple[int, int]:
        """Where the two texts stand."""
        if self.places is not None:
            return self.places
        generator = random.Random(f"places:{self.id}")  # noqa: S311 - a seeded experiment
        old = generator.randrange(FIRST_PLACES)
        return old, generator.randrange(old + 1, SESSIONS)


class GivenFiller(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a file of filler."""

    text: Text
    implied: tuple[Text, ...] = ()


def read_pairs(path: Path) -> tuple[list[StalePair], dict[str, Implied]]:
    """The pairs of a file, and their written facts. An error names the line and the field."""
    if any("M_old" in row for row in read_lines(path, dict[str, Any])[:1]):
        pairs, written = read_lines(path, StalePair), {}
    else:
        given = [one for one in read_lines(path, GivenPair) if one.invalidates]
        pairs = [StalePair(one.id, "T2", one.old, one.new, one.placed()) for one in given]
        written = {one.id: Implied(one.id, one.premises, one.implied) for one in given if one.premises and one.implied}
    if not pairs:
        raise RecordError(f"{path}: holds no pair; each line has id, old and new")
    seen: set[str] = set()
    for pair in pairs:
        if pair.uid in seen:
            raise RecordError(f"{path}: id {pair.uid} occurs twice; each pair has one of its own")
        seen.add(pair.uid)
    return pairs, written


def read_filler(folder: Path) -> list[Filler]:
    """The unrelated sessions of a folder, in the order of their names."""
    if not folder.is_dir():
        raise RecordError(f"{folder}: is no folder; name one with .txt, .jsonl or Memora session files")
    found = [filler for path in sorted(folder.rglob("*")) if path.is_file() for filler in _fillers(path)]
    if len(found) < SESSIONS - 2:
        raise RecordError(
            f"{folder}: holds {len(found)} sessions of filler; a history of {SESSIONS} needs {SESSIONS - 2}"
        )
    return found


def _fillers(path: Path) -> Iterator[Filler]:
    if path.suffix == ".txt":
        text = path.read_text("utf-8-sig").strip()[:FILLER_CHARS]
        yield from [Filler(text, ())] if text else []
    elif path.suffix == ".jsonl":
        yield from (Filler(one.text[:FILLER_CHARS], one.implied) for one in read_lines(path, GivenFiller))
    elif path.suffix == ".json":
        yield from _memora(path.read_bytes(), str(path))
    elif path.name.endswith(".tar.xz"):
        with tarfile.open(path, "r|xz") as archive:
            for member in archive:
                if member.name.endswith(".json") and (file := archive.extractfile(member)) is not None:
                    yield from _memora(file.read(), f"{path}: {member.name}")


def _memora(data: bytes, where: str) -> Iterator[Filler]:
    """A session file without a memory; other files of a release are passed over."""
    text = memora_text(data, where)
    if text:
        yield Filler(text, ())


def measure_given(
    pairs: Sequence[StalePair],
    written: Mapping[str, Implied],
    filler: Sequence[Filler],
    embedder: Embedder,
    seeds: Sequence[int],
) -> list[Recall]:
    """Recall with the given filler, with the new text by itself and buried in an unrelated session.

    Signals that compare written facts take part where there are some, and are measured over the pairs that have them.
    """
    vectors = Vectorizer(embedder)
    known = [pair for pair in pairs if pair.uid in written]
    found: list[Recall] = []
    for name, buried in (("given", False), ("given, buried", True)):
        for signals in SIGNALS:
            own = pairs if signals in MODEL_FREE else known
            cases = [case for seed in seeds for case in histories(own, written, filler, seed=seed, buried=buried)]
            if cases:
                found.append(measure(name, cases, vectors, signals))
    return found
