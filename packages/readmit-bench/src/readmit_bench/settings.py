"""Every parameter of the paper's table "Experimental parameter settings", by name, with that default.

Role settings, which say how each role's model answers, are kept with them. ``overridden`` changes some by name, as
``stale.retrieved_union=20``, or takes those of one of the paper's actors, as ``gemini``. Unknown names and impossible
values are refused.
"""

from __future__ import annotations

from collections import defaultdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from readmit.errors import RecordError
from readmit.events import Record
from readmit_bench.episodes import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
CountOrNone = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Threshold = Annotated[float, msgspec.Meta(ge=0, le=1)]
Fraction = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Span = tuple[CountOrNone, CountOrNone]
Period = Literal["weekly", "monthly", "quarterly"]
ActorForm = Literal["notes", "withdrawn", "brief"]
"""Notes in time order; the same, and after them what no longer holds of what the actor held; or the product's brief
form, which has that too."""
PERIODS: tuple[Period, ...] = ("weekly", "monthly", "quarterly")
DEFAULT = "default"


class MemoraSettings(Record, frozen=True, kw_only=True):
    """Memora: sessions retrieved on each side of the departure, how they are read, and the budget of facts.

    *State prediction* is the extraction of facts from retrieved sessions.
    """

    departures: Annotated[tuple[Fraction, ...], msgspec.Meta(min_length=1)] = (0.25, 0.50, 0.75)
    periods: Annotated[tuple[Period, ...], msgspec.Meta(min_length=1)] = PERIODS
    """Of these, what the folder holds is drawn from. ``--period`` sets it."""
    answer_tokens: Count = 2048
    state_prediction_tokens: Count = 4096
    retrieved_before: CountOrNone = 10
    retrieved_after: CountOrNone = 14
    recent_before: CountOrNone = 2
    recent_after: CountOrNone = 4
    batch_sessions: Count = 6
    facts_initial: Count = 12
    facts_at_most: Count = 16
    view_characters: Annotated[int, msgspec.Meta(ge=64, le=10_000_000)] = 8_000
    """Most characters of a view's rows, in their own words. The paper gives none; this is the product's budget."""
    selector_confidence: Threshold = 0.45
    retrieval: Literal["fused", "lexical"] = "fused"
    """``fused`` ranks facts by words and vectors, within the same numbers of sessions and rows. The paper's is
    ``lexical``."""
    form: ActorForm = "notes"
    """How the actor reads a view. The paper's actor does not get what no longer holds."""
    changes: Literal["explicit", "asked"] = "explicit"
    """What decides in ``readmit`` that something ended: the explicit operations that were extracted, or, beside them, a
    verifier. The paper calls Memora's replacements explicit."""

    def __post_init__(self) -> None:
        if self.facts_initial > self.facts_at_most:
            raise ValueError(f"facts_initial: {self.facts_initial} is above facts_at_most, {self.facts_at_most}")
        if len(set(self.departures)) < len(self.departures):
            raise ValueError("departures: a departure is named twice; name each once")
        if len(set(self.periods)) < len(self.periods):
            raise ValueError("periods: a period is named twice; name each once")

    @property
    def budget(self) -> Budget:
        return Budget(
            per_query=self.facts_initial,
            union=self.facts_initial,
            at_most=self.facts_at_most,
            characters=self.view_characters,
        )


class StaleSettings(Record, frozen=True, kw_only=True):
    """STALE Type II. A stratum is named by the first and last index of the old evidence's session.

    The *governance* budget is that of TRACE's own calls besides scan and verification: planning what the probes need,
    and writing down premises and implied facts. The governance prompt limit also holds for verification, of which the
    table gives the answer's budget only.
    """

    early: Span = (0, 4)
    middle: Span = (5, 9)
    late: Span = (10, 14)
    answer_tokens: Count = 4096
    judge_tokens: Count = 3072
    extraction_tokens: Count = 4096
    extraction_items: Count = 16
    governance_tokens: Count = 8192
    scan_tokens: Count = 512
    verification_tokens: Count = 512
    retrieved_per_query: Count = 10
    retrieved_union: Count = 30
    extraction_characters: Annotated[int, msgspec.Meta(ge=2_000, le=10_000_000)] = 24_000
    scan_characters: Annotated[int, msgspec.Meta(ge=2_000, le=10_000_000)] = 24_000
    governance_characters: Annotated[int, msgspec.Meta(ge=2_000, le=10_000_000)] = 32_000
    scan_targets: Annotated[int, msgspec.Meta(ge=1, le=16)] = 1
    scan_observations: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4
    extraction_sessions: Annotated[int, msgspec.Meta(ge=1, le=16)] = 6
    """Sessions that the shared extractor reads in one request, as far as its characters allow."""
    assistant_turns: Literal["questions", "whole"] = "questions"
    """What the shared extractor is shown of the assistant's turns: the questions that the user replies to, or all."""
    stated: Literal["within", "opening"] = "within"
    """Where a substitute haystack has the statements. ``opening`` puts them before a session's first turn, which marks
    the session. It exists for recorded runs that were made that way."""
    form: ActorForm = "notes"
    """How the actor reads a view. The paper's actor does not get what no longer holds."""

    def __post_init__(self) -> None:
        if self.retrieved_per_query > self.retrieved_union:
            raise ValueError(
                f"retrieved_per_query: {self.retrieved_per_query} is above retrieved_union, {self.retrieved_union}"
            )
        after = -1
        for name in ("early", "middle", "late"):
            first, last = getattr(self, name)
            if not after < first <= last:
                raise ValueError(f"{name}: {first},{last} must run forward and begin after the stratum before it")
            after = last

    @property
    def budget(self) -> Budget:
        return Budget(per_query=self.retrieved_per_query, union=self.retrieved_union)


class ManBenchSettings(Record, frozen=True, kw_only=True):
    """ManBench-Return with the token budgets of the Qwen and DeepSeek runs; ``GEMINI`` has the others."""

    active_agents: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 4
    baseline_tokens: Count = 96
    final_tokens: Count = 96
    active_tokens: Count = 700
    verifier_tokens: Count = 160
    verifier_confidence: Threshold = 0.65
    view_items: Count = 4
    view_characters: Annotated[int, msgspec.Meta(ge=64, le=10_000_000)] = 4096

    @property
    def budget(self) -> Budget:
        return Budget(per_query=self.view_items, union=self.view_items, characters=self.view_characters)


class RoleSettings(Record, frozen=True, kw_only=True):
    """How one role's model answers. The paper does not specify effort or temperature."""

    effort: Literal["default", "none", "minimal", "low", "medium", "high", "xhigh", "max"] = "default"
    """How much the model reasons, where a provider has such a setting."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | Literal["default"] = 0.0
    """``default`` leaves it to the provider: some models accept no other value."""
    answer_tokens: CountOrNone = 0
    """Token limit of an answer, reasoning included, in place of each stage's limit. 0: the stage's."""

    @property
    def changes(self) -> str:
        """The settings that differ from the defaults; empty if none do."""
        changed = [name for name in self.__struct_fields__ if getattr(self, name) != getattr(RoleSettings(), name)]
        return ", ".join(f"{name.replace('_', ' ')} {getattr(self, name)}" for name in changed)


class Settings(Record, frozen=True, kw_only=True):
    """The settings of the three benchmarks and of the four roles."""

    memora: MemoraSettings = MemoraSettings()
    stale: StaleSettings = StaleSettings()
    manbench: ManBenchSettings = ManBenchSettings()
    actor: RoleSettings = RoleSettings()
    extractor: RoleSettings = RoleSettings()
    verifier: RoleSettings = RoleSettings()
    judge: RoleSettings = RoleSettings()

    def with_agents(self, count: int) -> Settings:
        """The same with another number of active agents."""
        return msgspec.structs.replace(self, manbench=msgspec.structs.replace(self.manbench, active_agents=count))

    def role(self, name: str) -> RoleSettings:
        """How a role's model answers."""
        found: RoleSettings = getattr(self, name)
        return found


GEMINI = ManBenchSettings(baseline_tokens=256, final_tokens=256, active_tokens=1024, verifier_tokens=384)

PRESETS: Mapping[str, Settings] = {"qwen": Settings(), "deepseek": Settings(), "gemini": Settings(manbench=GEMINI)}
"""The paper's settings by actor: they differ in ManBench's token budgets only."""


def overridden(settings: Settings, changes: Sequence[str]) -> Settings:
    """The settings with some changed by name; the last change of a name counts.

    A preset's name applies all settings of that actor first, wherever it stands among the changes.
    """
    named = list(dict.fromkeys(change.strip() for change in changes if change.strip() in PRESETS))
    if len(named) > 1:
        raise RecordError(f"settings: {' and '.join(named)} are two presets; name one")
    settings = PRESETS[named[0]] if named else settings
    changed: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for change in (one for one in changes if one.strip() not in PRESETS):
        place, equals, text = (part.strip() for part in change.partition("="))
        group, _, name = place.partition(".")
        known = _parameters(settings, group, place)
        if name not in known:
            names = [f"{group}.{one}" for one in known]
            raise RecordError(
                f"settings: {place}: no such setting; {_meant(place, names)}use one of {', '.join(names)}"
            )
        if not equals or not text:
            raise RecordError(f"settings: {place}: has no value; write {place}={_written(known[name])}")
        changed[group][name] = _read(place, text, known[name])
    made = settings
    for group, values in changed.items():
        kind = type(getattr(settings, group))
        whole = {**_parameters(settings, group, group), **values}
        try:
            one = msgspec.convert(whole, kind, strict=True)
        except msgspec.ValidationError as error:
            raise RecordError(f"settings: {group}.{_explained(error, values)}") from None
        made = msgspec.structs.replace(made, **{group: one})
    return made


def _parameters(settings: Settings, group: str, place: str) -> dict[str, Any]:
    if group not in Settings.__struct_fields__:
        named = ", ".join(f"{one}.…" for one in Settings.__struct_fields__)
        every = [f"{one}.{name}" for one in Settings.__struct_fields__ for name in _parameters(settings, one, one)]
        raise RecordError(
            f"settings: {place or '(nothing)'}: no such setting; {_meant(place, [*every, *PRESETS])}names begin with "
            f"one of {named}, or name a preset: {', '.join(PRESETS)}"
        )
    held = getattr(settings, group)
    return {name: getattr(held, name) for name in held.__struct_fields__}


def _meant(place: str, names: Sequence[str]) -> str:
    near = get_close_matches(place, names, n=1, cutoff=0.8)
    return f"did you mean {near[0]}? Otherwise, " if near else ""


def _read(place: str, text: str, now: Any) -> Any:
    """The text as a value of the setting's type."""
    if isinstance(now, tuple):
        return tuple(_read(place, part.strip(), now[0]) for part in text.split(","))
    if isinstance(now, str) or (text == DEFAULT and place.endswith(".temperature")):
        return text
    kind = float if isinstance(now, float) else int
    try:
        return kind(text)
    except ValueError:
        wanted = "a number" if kind is float else "a whole number"
        raise RecordError(
            f"settings: {place}: {text!r} is not {wanted}; write {place}={_written(now)}, for instance"
        ) from None


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _explained(error: msgspec.ValidationError, values: Mapping[str, Any]) -> str:
    """The fault of a value, after the setting's name."""
    text, _, path = str(error).partition(" - at `$")
    name = path.rstrip("`").lstrip(".").partition("[")[0]
    return f"{name}: {_written(values[name])} cannot be: {text[0].lower()}{text[1:]}" if name in values else text
