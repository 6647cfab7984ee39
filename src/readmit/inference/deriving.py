"""Texts made of texts: premises, implied facts and vectors, each made once and kept with the workspace.

A return over a history that was looked at before reads them and asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from readmit.models.embedders import CachedEmbedder
from readmit.models.stages import imply
from readmit.models.stages.scan import PROMPT as SCAN
from readmit.models.stages.scan import scan
from readmit.ports.models import Failure
from readmit.records.canonical import digest, digest_of
from readmit.records.errors import ModelError
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from readmit.models.stages.scan import Look
    from readmit.ports.derived import Derived
    from readmit.ports.models import Embedder, Model

    Matrix = NDArray[np.float32]

PREMISES = "premises"
FACTS = "facts"
VECTOR = "vector"
SCANNED = "scan"

_decode = msgspec.json.Decoder(tuple[str, ...]).decode


class Written(msgspec.Struct, frozen=True):
    """Lines by text, and the texts for which a model failed to write any."""

    lines: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, Failure]


def premises(derived: Derived, model: Model, texts: Iterable[str], workspace: str, *, extracted: str = "") -> Written:
    """What each statement rests on. ``extracted`` names who drew items from evidence: premises came with them."""
    wanted = {source_of(text): text for text in texts}
    given = _stored(derived, PREMISES, extracted, wanted) if extracted else {}
    rest = [text for text in wanted.values() if text not in given]
    made = _written(
        derived,
        PREMISES,
        maker(model.name, imply.PREMISES),
        rest,
        ask=partial(imply.premises, model),
        workspace=workspace,
    )
    return Written({**given, **made.lines}, made.failed)


def implied(derived: Derived, model: Model, texts: Iterable[str], workspace: str) -> Written:
    """What each observation implies."""
    return _written(
        derived, FACTS, maker(model.name, imply.IMPLIED), texts, ask=partial(imply.implied, model), workspace=workspace
    )


def keep_premises(derived: Derived, by: str, known: Mapping[str, Sequence[str]]) -> None:
    """Keep premises that came with an extraction, so that nobody is asked for them again."""
    derived.write(PREMISES, by, {source_of(text): msgspec.json.encode(lines) for text, lines in known.items() if lines})


def maker(model: str, prompt: str) -> str:
    """Who made a derived text: another model, or another version of the prompt, makes another one."""
    return f"{model}/{prompt}"


def source_of(text: str) -> str:
    """What a derived text is filed under."""
    return digest_of(text.encode("utf-8", "surrogatepass"))


def _stored(derived: Derived, kind: str, by: str, wanted: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {wanted[source]: _decode(body) for source, body in derived.read(kind, by, wanted).items()}


def _written(
    derived: Derived,
    kind: str,
    by: str,
    texts: Iterable[str],
    *,
    ask: Callable[..., list[tuple[str, ...] | Failure]],
    workspace: str,
) -> Written:
    wanted = {source_of(text): text for text in texts}
    lines = _stored(derived, kind, by, wanted)
    missing = [text for text in wanted.values() if text not in lines]
    answers = dict(zip(missing, ask(missing, workspace=workspace), strict=True)) if missing else {}
    made = {text: said for text, said in answers.items() if not isinstance(said, Failure)}
    derived.write(kind, by, {source_of(text): msgspec.json.encode(said) for text, said in made.items()})
    failed = {text: said for text, said in answers.items() if isinstance(said, Failure)}
    return Written({**lines, **made}, failed)


class Scanning(msgspec.Struct, frozen=True):
    """Pairs that the scan named, and pairs that it failed to look at."""

    named: frozenset[Pair]
    failed: Mapping[Pair, Failure]


def scanned(derived: Derived, model: Model, looks: Sequence[Look], workspace: str) -> Scanning:
    """The paper's scan. What was looked at once, beside whatever else, is not looked at again."""
    by = maker(model.name, SCAN)
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
    for look, said in zip(fresh, scan(model, fresh, workspace=workspace) if fresh else (), strict=True):
        places = [(look.item, one.evidence) for one in look.later]
        if isinstance(said, Failure):
            failed |= dict.fromkeys(places, said)
            continue
        found = {(pair.item, pair.evidence) for pair in said}
        named |= found
        rows |= {sources[place]: b"1" if place in found else b"0" for place in places}
    derived.write(SCANNED, by, rows)
    return Scanning(frozenset(map(_pair, named)), {_pair(place): why for place, why in failed.items()})


def _pair(place: tuple[str, str]) -> Pair:
    return Pair(item=place[0], evidence=place[1])


class Vectors:
    """Vectors of texts, each text embedded once in the life of the workspace."""

    def __init__(self, embedder: Embedder, derived: Derived, workspace: str) -> None:
        self._embedder = CachedEmbedder(embedder, workspace, _Kept(derived, workspace))

    def rows(self, texts: Mapping[str, tuple[str, ...]]) -> dict[str, Matrix]:
        """One matrix per name, a row per text; all that is missing is embedded in one go."""
        flat = [text for own in texts.values() for text in own]
        if not flat:
            return {}
        matrix = self._embedder.embed(flat)
        found: dict[str, Matrix] = {}
        start = 0
        for name, own in texts.items():
            found[name] = matrix[start : start + len(own)]
            start += len(own)
        return found


class _Kept:
    """Vectors as derived texts."""

    def __init__(self, derived: Derived, workspace: str) -> None:
        self._derived = derived
        self._workspace = workspace

    def read_vectors(self, workspace: str, embedder: str, digests: Sequence[str]) -> Mapping[str, bytes]:
        self._own(workspace)
        return self._derived.read(VECTOR, embedder, digests)

    def write_vectors(self, workspace: str, embedder: str, rows: Mapping[str, bytes]) -> None:
        self._own(workspace)
        self._derived.write(VECTOR, embedder, rows)

    def _own(self, workspace: str) -> None:
        if workspace != self._workspace:
            raise ModelError(f"vectors of {workspace!r} were asked for in {self._workspace!r}: open that workspace")
