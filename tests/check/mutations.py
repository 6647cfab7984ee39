"""How well ``readmit check`` finds: true lines about small repositories, and one thing at a time renamed or removed.

    python -m tests.check.mutations           what was missed and what was wrong, of the two thirds that rules may be
                                              written with
    python -m tests.check.mutations --count   the tables of docs/guide/check.md, of all

A line is stale if it says a name that the mutation took away. Every other line stays true, so anything that is found
there is a false alarm. A digest decides which third is only counted.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .project import Project, checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CORPUS = Path(__file__).parent / "corpus"
PROJECTS = tuple(sorted(path.stem for path in CORPUS.glob("*.txt")))


class Name(NamedTuple):
    """A name that a mutation takes away, as lines say it."""

    kind: str
    said: str

    def stands_in(self, line: str) -> bool:
        return re.search(rf"(?<![\w-]){re.escape(self.said)}(?![\w-])", line) is not None


@dataclass(frozen=True)
class Mutation:
    """Edits that make a repository lack some names."""

    names: tuple[Name, ...]
    edits: tuple[str, ...]

    @property
    def is_unseen(self) -> bool:
        return is_unseen(" ".join(one.said for one in self.names))


def is_unseen(text: str) -> bool:
    """Whether something is of the third that is only counted."""
    return hashlib.sha256(text.encode()).digest()[0] % 3 == 0


@dataclass(frozen=True)
class Corpus:
    """A small repository, memory files about it, and mutations."""

    language: str
    files: dict[str, str]
    memories: dict[str, str]
    mutations: tuple[Mutation, ...]

    @property
    def lines(self) -> Iterator[tuple[str, int, str]]:
        """Every line of a memory file that says something: its file, its number, and its text."""
        for file, text in self.memories.items():
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(r"\w", line) and not line.startswith(("#", "```", "|---")):
                    yield file, number, line

    def stale(self, mutation: Mutation) -> dict[tuple[str, int], Name]:
        """The lines that a mutation makes wrong, each with the name that is gone."""
        return {
            (file, number): name
            for file, number, line in self.lines
            for name in mutation.names[::-1]
            if name.stands_in(line)
        }


def corpus_of(language: str) -> Corpus:
    files: dict[str, str] = {}
    for part in re.split(r"^=== ", (CORPUS / f"{language}.txt").read_text(), flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        files[name] = text
    mutations = tuple(_mutation(line) for line in files.pop("mutations").splitlines() if line)
    memories = {name[1:]: files.pop(name) for name in list(files) if name.startswith("@")}
    return Corpus(language, files, memories, mutations)


def _mutation(line: str) -> Mutation:
    kind, names, edits = line.split(" | ")
    said = [name.partition(":=")[::2] if ":=" in name else (kind, name) for name in names.split(", ")]
    # What moves away takes its path along.
    moved = [("path", edit.split()[1]) for edit in edits.split(" ; ") if edit.startswith(("mv ", "rm "))]
    return Mutation(tuple(dict.fromkeys(Name(*one) for one in (*said, *moved))), tuple(edits.split(" ; ")))


def mutated(files: dict[str, str], mutation: Mutation) -> dict[str, str]:
    """The files after the edits of a mutation; each edit has to change something."""
    for edit in mutation.edits:
        before = dict(files)
        if edit.startswith(("mv ", "rm ")):
            _, old, *new = edit.split()
            files = {
                (re.sub(rf"^{re.escape(old)}(?=/|$)", new[0] if new else "\0", name)): text
                for name, text in files.items()
            }
            files = {name: text for name, text in files.items() if not name.startswith("\0")}
        else:
            where, change = edit.split(" ", 1)
            old, new_ = change.split(" => ")
            edges = (r"(?<![\w-])" if old[0].isalnum() else "", r"(?![\w-])" if old[-1].isalnum() else "")
            wanted = re.compile(rf"{edges[0]}{re.escape(old)}{edges[1]}")
            files = {
                name: wanted.sub(new_.replace("\\", r"\\"), text) if where in {"*", name} else text
                for name, text in files.items()
            }
        assert files != before, (edit, mutation)
    return files


@dataclass
class Tally:
    """What a check of one or many trees got right."""

    true: Counter[str] = field(default_factory=Counter)
    """Stale lines that were found, by kind."""
    missed: Counter[str] = field(default_factory=Counter)
    listed: int = 0
    """Of the missed ones, those whose name is listed as not checked."""
    false: int = 0
    said: list[str] = field(default_factory=list)

    @property
    def stale(self) -> int:
        """How many lines were stale."""
        return sum((self.true + self.missed).values())

    def add(self, other: Tally) -> None:
        self.true += other.true
        self.missed += other.missed
        self.listed += other.listed
        self.false += other.false
        self.said += other.said


def looked(project: Project, corpus: Corpus) -> tuple[dict[tuple[str, int], list[str]], set[tuple[str, int]]]:
    """What is found, and where something is listed as not checked, by file and line."""
    report = checked(*(project.root / name for name in corpus.memories))
    found: dict[tuple[str, int], list[str]] = {}
    for one in report.findings:
        found.setdefault((one.place.file, one.place.line), []).append(f"{one.kind} {one.looked_for}: {one.now}")
    return found, {(one.place.file, one.place.line) for one in report.unchecked}


def judged(corpus: Corpus, mutation: Mutation, root: Path, *, with_history: bool) -> Tally:
    """The outcome of one mutation."""
    after = {**mutated(corpus.files, mutation), **corpus.memories}
    before = {**corpus.files, **corpus.memories}
    project = Project(root, before if with_history else after)
    if with_history:
        project.commit(**{name: after.get(name) for name in {*before, *after} if before.get(name) != after.get(name)})
    found, unchecked = looked(project, corpus)
    stale = corpus.stale(mutation)
    lines = {(file, number): line for file, number, line in corpus.lines}
    tally = Tally()
    for place, name in stale.items():
        tally.true[name.kind] += place in found
        tally.missed[name.kind] += place not in found
        if place not in found:
            tally.listed += place in unchecked
            tally.said.append(f"missed {name.kind} {name.said}: {lines[place]}")
    for place, said in found.items():
        if place not in stale:
            tally.false += 1
            tally.said.append(f"FALSE {mutation.names[0].said}: {said}: {lines.get(place)}")
    return tally


def measured(corpus: Corpus, *, with_history: bool, unseen: bool) -> Tally:
    """All mutations of a corpus, of the third that is only counted or of the others."""
    whole = Tally()
    for mutation in corpus.mutations:
        if mutation.is_unseen == unseen:
            with tempfile.TemporaryDirectory() as folder:
                whole.add(judged(corpus, mutation, Path(folder) / "tree", with_history=with_history))
    return whole


def false_alarms(corpus: Corpus) -> list[tuple[str, list[str]]]:
    """Lines with a finding before anything was changed: they are all true."""
    with tempfile.TemporaryDirectory() as folder:
        found, _ = looked(Project(Path(folder) / "tree", {**corpus.files, **corpus.memories}), corpus)
    lines = {(file, number): line for file, number, line in corpus.lines}
    return [(lines.get(place, ""), said) for place, said in found.items()]


def figures(languages: Sequence[str]) -> Iterator[str]:
    """Rows of tables: what is found and what is false, of the two thirds first and then of the unseen one."""
    yield "| language | mutations | stale lines | found | of these without a history | true lines | false alarms |"
    yield "|---|---|---|---|---|---|---|"
    for unseen in (False, True):
        kinds: dict[bool, Tally] = {True: Tally(), False: Tally()}
        for language in languages:
            corpus = corpus_of(language)
            past, never = (measured(corpus, with_history=one, unseen=unseen) for one in (True, False))
            kinds[True].add(past)
            kinds[False].add(never)
            chosen = [line for *_, line in corpus.lines if is_unseen(line) == unseen]
            wrong = sum(is_unseen(line) == unseen for line, _ in false_alarms(corpus))
            count = sum(one.is_unseen == unseen for one in corpus.mutations)
            yield (
                f"| {language}{', unseen' if unseen else ''} | {count} | {past.stale} | {_share(past)} "
                f"| {_share(never)} | {len(chosen)} | {wrong} + {past.false} + {never.false} |"
            )
        yield from (
            f"| {kind}{', unseen' if unseen else ''} | {count} | {kinds[True].true[kind]} | {kinds[False].true[kind]} |"
            for kind, count in sorted((kinds[True].true + kinds[True].missed).items())
        )
        yield f"| all | {kinds[True].stale} | {_share(kinds[True])} | {_share(kinds[False])} | {kinds[True].false} |"
        yield f"| listed as not checked | {kinds[True].listed} | {kinds[False].listed} |"


def _share(tally: Tally) -> str:
    found = sum(tally.true.values())
    return f"{found} ({found / tally.stale:.0%})" if tally.stale else "-"


def main(languages: list[str]) -> None:
    for language in languages:
        corpus = corpus_of(language)
        for line, said in false_alarms(corpus):
            if not is_unseen(line):
                print(f"FALSE before: {said}: {line}")
        for with_history in (True, False):
            tally = measured(corpus, with_history=with_history, unseen=False)
            print("\n".join(dict.fromkeys(tally.said)))
            print(language, f"history {with_history}: {_share(tally)} of {tally.stale}, false {tally.false}")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--count"] or list(PROJECTS)
    if "--count" in sys.argv:
        for row in figures(words):
            print(row, flush=True)
    else:
        main(words)
