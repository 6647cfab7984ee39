"""Every choice about implicit invalidation in one record, and the models that carry it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, Unpack

import msgspec

from readmit.models.embedders import open_embedder
from readmit.models.fence import MAX_CHARS
from readmit.models.model_lines import open_model
from readmit.models.protocols import close_model
from readmit.models.stages import imply, link, scan, verify
from readmit.records.arguments import check_fields
from readmit.records.base import Record
from readmit.records.canonical import repeated_key, without_mark
from readmit.records.error_types import ModelError, RecordError
from readmit.records.items import Kind
from readmit.rules.invalidate.propose import NEAR, NEAR_STATED, Signal

if TYPE_CHECKING:
    from readmit.models.protocols import Embedder, Model

Positive = Annotated[int, msgspec.Meta(ge=1)]

NEEDS_VECTORS = frozenset({Signal.EMBEDDING, Signal.PASSAGE, Signal.IMPLIED_FACTS})


class RequestBudgets(Record, kw_only=True, omit_defaults=False):
    """How long requests and their answers may be, by stage. The defaults are the stages' own."""

    lines_tokens: Positive = imply.MAX_TOKENS
    """Most tokens of an answer that lists premises or implied facts."""
    lines_chars: Positive = MAX_CHARS
    """Most characters of the text that they are written about; a longer one is read in pieces."""
    scan_tokens: Positive = scan.MAX_TOKENS
    """Most tokens of an answer of the scan."""
    scan_chars: Positive = MAX_CHARS
    """Most characters of all texts in one request of the scan."""
    link_tokens: Positive = link.MAX_TOKENS
    """Most tokens of an answer of the linker about eight needs; about more, as many times that."""
    link_chars: Positive = MAX_CHARS
    """Most characters of all needs and statements in one request of the linker."""
    verify_tokens: Positive = verify.MAX_TOKENS
    """Most tokens of an answer of the verifier."""
    verify_chars: Positive = MAX_CHARS
    """Most characters of one text that is put to the verifier."""


class Settings(Record, kw_only=True, omit_defaults=False):
    """How much is examined, how verdicts are confirmed, and what happens to pairs that are not examined."""

    signals: tuple[Signal, ...] = (
        Signal.DECLARED_PREMISE,
        Signal.SAME_SLOT,
        Signal.EMBEDDING,
        Signal.PASSAGE,
        Signal.IMPLIED_FACTS,
    )
    """Which signals propose pairs, where there are too many to verify all. ``scan`` is the paper's; it reads every open
    pair and costs accordingly."""
    kinds: tuple[Kind, ...] = (Kind.FACT, Kind.ROLE_CONSTRAINT, Kind.INTERFACE_CONSTRAINT)
    """Kinds of item whose premises may change implicitly. A duty ends only by an explicit event."""
    targets: Literal["items", "premises"] = "items"
    """Whether every item is examined, or only premises of other items, as in the paper: dependent items fall with them.
    The latter does not examine the other items, and no examination is recorded.
    """
    since: Literal["item", "departure"] = "item"
    """Which observations may change an item: all later ones, or only those since the departure."""
    changes: Literal["asked", "explicit"] = "asked"
    """The evidence that a statement ended: explicit operations and the verifier, or, for messages that an extractor
    read whole, explicit operations alone. With ``explicit`` nothing is asked about such a message, and no examination
    is recorded.
    """
    all_pairs: Annotated[int, msgspec.Meta(ge=0)] = 400
    """Up to this many open pairs, every one is verified. Beyond, signals choose."""
    near: Annotated[float, msgspec.Meta(ge=-100, le=100)] = NEAR
    """The score from which on signals propose a pair, in standard deviations above the item's other pairs. Pairs that
    the team declared, or that a model named, are always proposed."""
    near_stated: Annotated[float, msgspec.Meta(ge=-100, le=100)] = NEAR_STATED
    """``near`` for observations that an extractor read whole, or whose implied facts a model wrote."""
    scan_per_call: Annotated[int, msgspec.Meta(ge=1, le=scan.MOST)] = scan.PER_CALL
    """Later observations in a call of the scan. The paper's has four at most."""
    scan_targets: Annotated[int, msgspec.Meta(ge=1, le=scan.MOST)] = 1
    """Targets in a call of the scan. The paper's has one."""
    pairs_per_call: Annotated[int, msgspec.Meta(ge=1, le=verify.MOST_PAIRS)] = verify.MOST_PAIRS
    """Most pairs in one call of the verifier: some earlier statements, each beside some later observations. More are
    cheaper, but a small model may judge them less carefully; ``eval pairs`` measures it.
    """
    confirm_critical: Literal["none", "swapped", "second_model"] = "none"
    """How a verdict about an item that supports a critical dependency is confirmed: not at all, by the same model
    with the texts in the other order, or by the second verifier."""
    on_unseen: Literal["block", "note"] = "block"
    """A pair of a critical item that no signal could score because a model failed is suspected (``block``), or only
    noted in the audit (``note``).
    """
    linking: bool = True
    """Whether needs and items are linked, by the linker or else by nearness, and whether replacements of needed items
    are drafted.
    """
    links_per_need: Positive = 3
    """Most items linked to one need in one preparation."""
    budget: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Most tokens that one preparation may take. None: no limit."""
    budgets: RequestBudgets = RequestBudgets()
    """How long single requests and answers may be."""

    def __post_init__(self) -> None:
        if not self.signals:
            raise ValueError("signals must name at least one signal")
        if len(set(self.signals)) != len(self.signals):
            raise ValueError("signals must name each signal once")


class ModelFields(TypedDict, total=False):
    """The model of each stage: a provider, or a line that ``open_model`` understands."""

    verifier: Model | str | None
    second_verifier: Model | str | None
    implier: Model | str | None
    scanner: Model | str | None
    extractor: Model | str | None
    planner: Model | str | None
    linker: Model | str | None
    embedder: Embedder | str | None


class InferenceModels:
    """The model of each stage. A stage without a model is not used.

    Each is a provider, or a line that ``open_model`` understands. Models opened from a line are closed with the team;
    models passed in are left open.
    """

    def __init__(self, **models: Unpack[ModelFields]) -> None:
        check_fields(InferenceModels, models, ModelFields)
        self._opened: dict[str, Model] = {}
        self.verifier = self._open(models.get("verifier"))
        self.second_verifier = self._open(models.get("second_verifier"))
        self.implier = self._open(models.get("implier"))
        self.scanner = self._open(models.get("scanner"))
        self.extractor = self._open(models.get("extractor"))
        self.planner = self._open(models.get("planner"))
        self.linker = self._open(models.get("linker"))
        embedder = models.get("embedder")
        self.embedder = open_embedder(embedder) if isinstance(embedder, str) else embedder

    def close(self) -> None:
        """Close the models that were opened from a line."""
        for model in self._opened.values():
            close_model(model)

    def _open(self, model: Model | str | None) -> Model | None:
        if not isinstance(model, str):
            return model
        # Stages that name the same line share one model: a local file is loaded once.
        if model not in self._opened:
            self._opened[model] = open_model(model)
        return self._opened[model]

    def require(self, settings: Settings) -> None:
        """Refuse settings that need a model which is not given."""
        lacking = [
            (self.verifier is None, "verifier", "proposed pairs are judged by it"),
            (
                settings.confirm_critical == "second_model" and self.second_verifier is None,
                "second_verifier",
                "confirm_critical is second_model",
            ),
            (Signal.IMPLIED_FACTS in settings.signals and self.implier is None, "implier", "implied_facts is a signal"),
            (Signal.SCAN in settings.signals and self.scanner is None, "scanner", "scan is a signal"),
            (
                not NEEDS_VECTORS.isdisjoint(settings.signals) and self.embedder is None,
                "embedder",
                "a signal compares vectors",
            ),
        ]
        for missing, name, why in lacking:
            if missing:
                raise ModelError(f"{name}: none is given, and {why}; give one, or leave that signal or setting out")

    def signals(self) -> tuple[Signal, ...]:
        """The default signals that this team can serve."""
        able = {
            Signal.IMPLIED_FACTS: self.implier is not None and self.embedder is not None,
            Signal.EMBEDDING: self.embedder is not None,
            Signal.PASSAGE: self.embedder is not None,
        }
        return tuple(signal for signal in Settings().signals if able.get(signal, True))


def settings_from(text: bytes | str) -> Settings:
    """Settings from a JSON file."""
    text = without_mark(text)
    try:
        made = msgspec.json.decode(text, type=Settings)
    except msgspec.DecodeError as error:
        raise RecordError(f"settings: {error}; fields are {', '.join(Settings.__struct_fields__)}") from None
    if said := repeated_key(text):
        raise RecordError(f"settings: {said}")
    return made
