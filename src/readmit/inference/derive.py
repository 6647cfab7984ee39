"""Derived texts: premises, implied facts and vectors, each made once and kept with the workspace.

A return over a history that was examined before reads them and asks no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from readmit.models.embedders import CachedEmbedder, TextVectors
from readmit.models.protocols import Failure
from readmit.models.stages import scan
from readmit.models.stages.extract import PROMPT as EXTRACT
from readmit.models.stages.imply import IMPLIED, PREMISES, write_lines
from readmit.records.canonical import digest, digest_of
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from readmit.inference.settings import RequestBudgets, Settings
    from readmit.log.derived_texts import DerivedTexts
    from readmit.models.protocols import Embedder, Model
    from readmit.models.stages.imply import LineKind
    from readmit.models.stages.scan import Later, TargetLook

Q = TypeVar("Q")
A = TypeVar("A")

VECTOR = "vector"
SCANNED = "scan"
STATED = "stated"
EXTRACTORS = "extractors"
"""Kind and maker of the derived text that lists the words of an observation in which extractors found a statement."""

_decode = msgspec.json.Decoder(tuple[str, ...]).decode


class DerivedLines(msgspec.Struct, frozen=True):
    """Lines by text, and the texts for which a model failed to write any."""

    lines: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, Failure]


def derive_lines(
    derived: DerivedTexts,
    kind: LineKind,
    model: Model,
    texts: Iterable[str],
    workspace: str,
    *,
    budgets: RequestBudgets,
    extracted: str = "",
) -> DerivedLines:
    """The lines of a kind about each text, stored or written now.

    ``extracted`` names the extractor: its items came with premises, and their statements are the facts of the
    observations they were drawn from.
    """
    wanted = {source_of(text): text for text in texts}
    stored = derived.read(kind.stored, extracted, wanted) if extracted else {}
    lines = {wanted[source]: _decode(body) for source, body in stored.items()}
    tokens, chars = budgets.lines_tokens, budgets.lines_chars
    said = answered(
        derived,
        kind.stored,
        maker(model.name, kind.prompt),
        {text: source for source, text in wanted.items() if source not in stored},
        ask=lambda missing: write_lines(model, kind, missing, workspace=workspace, max_tokens=tokens, max_chars=chars),
        form=tuple[str, ...],
    )
    failed = {text: one for text, one in said.items() if isinstance(one, Failure)}
    return DerivedLines(lines | {text: one for text, one in said.items() if not isinstance(one, Failure)}, failed)


def answered(
    derived: DerivedTexts,
    kind: str,
    by: str,
    questions: Mapping[Q, str],
    *,
    ask: Callable[[list[Q]], Sequence[A | Failure]],
    form: type[A],
) -> dict[Q, A | Failure]:
    """The answers to some questions, each stored under its key or given now. Failures are not stored."""
    stored = derived.read(kind, by, questions.values())
    missing = [question for question, key in questions.items() if key not in stored]
    found: dict[Q, A | Failure] = dict(zip(missing, ask(missing) if missing else (), strict=True))
    made = {questions[question]: said for question, said in found.items() if not isinstance(said, Failure)}
    derived.write(kind, by, {key: msgspec.json.encode(said) for key, said in made.items()})
    known = {question: key for question, key in questions.items() if question not in found}
    return found | {question: msgspec.json.decode(stored[key], type=form) for question, key in known.items()}


def keep_extraction(
    derived: DerivedTexts, model: str, premises: Mapping[str, Sequence[str]], facts: Mapping[str, Sequence[str]]
) -> None:
    """Keep an extraction's premises by statement, and its statements by observation: no model is asked for them again.

    An observation in which it found none is kept as such.
    """
    by = maker(model, EXTRACT)
    derived.write(PREMISES.stored, by, _encoded(premises))
    derived.write(IMPLIED.stored, by, _encoded(facts))


def keep_stated(derived: DerivedTexts, quotes: Mapping[str, Sequence[str]]) -> None:
    """Keep the words in which an extractor found a statement, for observations that it read whole; none is kept too.

    What another extractor found stays.
    """
    known = stated_in(derived, quotes)
    derived.write(
        STATED,
        EXTRACTORS,
        _encoded({text: tuple(dict.fromkeys((*known.get(text, ()), *own))) for text, own in quotes.items()}),
    )


def stated_in(derived: DerivedTexts, texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By text, for observations that an extractor read whole: the words in which one found a statement."""
    wanted = {source_of(text): text for text in texts}
    return {wanted[source]: _decode(body) for source, body in derived.read(STATED, EXTRACTORS, wanted).items()}


def _encoded(lines: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    return {source_of(text): msgspec.json.encode(own) for text, own in lines.items()}


def maker(model: str, prompt: str) -> str:
    """The maker of a derived text: a model and a version of its prompt."""
    return f"{model}/{prompt}"


def source_of(text: str) -> str:
    """The key of a derived text."""
    return digest_of(text.encode("utf-8", "surrogatepass"))


class Scanning(msgspec.Struct, frozen=True):
    """Pairs that the scan named, and pairs that it failed to examine."""

    named: frozenset[Pair]
    failed: Mapping[Pair, Failure]


def scanned(
    derived: DerivedTexts, model: Model, looks: Sequence[TargetLook], workspace: str, settings: Settings
) -> Scanning:
    """The paper's scan. A pair that was scanned once, in any request, is not scanned again."""
    wide = settings.scan_targets > 1 or settings.scan_per_call > scan.PER_CALL
    by = maker(model.name, scan.WIDE_PROMPT if wide else scan.PROMPT)
    sources = {(look.item, one.evidence): digest((look.text, one.text)) for look in looks for one in look.later}
    known = derived.read(SCANNED, by, sources.values())
    fresh = [
        msgspec.structs.replace(look, later=later)
        for look in looks
        if (later := tuple(one for one in look.later if sources[look.item, one.evidence] not in known))
    ]
    named = {key for key, source in sources.items() if known.get(source) == b"1"}
    failed: dict[tuple[str, str], Failure] = {}
    rows: dict[str, bytes] = {}
    for look, said in _looked(model, fresh, workspace, settings, wide=wide):
        places = [(look.item, one.evidence) for one in look.later]
        if isinstance(said, Failure):
            failed |= dict.fromkeys(places, said)
            continue
        found = {(pair.item, pair.evidence) for pair in said}
        named |= found
        rows |= {sources[place]: b"1" if place in found else b"0" for place in places}
    derived.write(SCANNED, by, rows)
    return Scanning(frozenset(map(_pair, named)), {_pair(place): why for place, why in failed.items()})


def _looked(
    model: Model, looks: Sequence[TargetLook], workspace: str, settings: Settings, *, wide: bool
) -> Iterator[tuple[TargetLook, tuple[Pair, ...] | Failure]]:
    """Each look and its answer. Looks at the same observations share a request as far as the settings allow."""
    alike: dict[tuple[Later, ...], list[TargetLook]] = {}
    for look in looks:
        alike.setdefault(look.later if wide else (), []).append(look)
    most = settings.scan_targets if wide else 1
    groups = [own[start : start + most] for own in alike.values() for start in range(0, len(own), most)]
    tokens, chars = settings.budgets.scan_tokens, settings.budgets.scan_chars
    answers = scan.scan(model, groups, wide=wide, workspace=workspace, max_tokens=tokens, max_chars=chars)
    for group, own in zip(groups, answers, strict=True):
        yield from zip(group, own, strict=True)


def _pair(place: tuple[str, str]) -> Pair:
    return Pair(item=place[0], evidence=place[1])


class StoredVectors(TextVectors):
    """Vectors of texts; each text is embedded once per workspace."""

    def __init__(self, embedder: Embedder, derived: DerivedTexts) -> None:
        super().__init__(CachedEmbedder(embedder, _Kept(derived)))


class _Kept:
    """Vectors as derived texts."""

    def __init__(self, derived: DerivedTexts) -> None:
        self._derived = derived

    def read_vectors(self, embedder: str, digests: Sequence[str]) -> Mapping[str, bytes]:
        return self._derived.read(VECTOR, embedder, digests)

    def write_vectors(self, embedder: str, rows: Mapping[str, bytes]) -> None:
        self._derived.write(VECTOR, embedder, rows)
