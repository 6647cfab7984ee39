"""A plan's figures: some episodes of every block are played with a stand-in and scaled up to all.

Nothing is asked. Every request is built by the code that would send it, from the data; what the stand-in answers
decides what later stages ask, and a plan says how (``standin``, ``recorded``). A request that an earlier method of the
plan already made is not paid for again, as in a run.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from readmit.errors import PendingAnswers, ReadmitError
from readmit.models import Lexical, Reply, Usage
from readmit_bench.benchmarks import benchmark_named
from readmit_bench.benchmarks.benchmark import OUTPUT
from readmit_bench.episode_runs import Roles, attempt, method_named, scored
from readmit_bench.methods import entry_named
from readmit_bench.plans.standin import answer_to, parts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from readmit.models import Ask
    from readmit_bench.episodes import Case
    from readmit_bench.plans.recorded_answers import Recorded
    from readmit_bench.settings import Settings

CHARS_PER_TOKEN = 4.0
OTHER_OUTPUT = 150
"""Answer tokens where nothing is recorded."""


@dataclass(frozen=True)
class Request:
    """One request of a played episode."""

    method: str
    role: str
    stage: str
    chars: int
    most: int
    """Most tokens its answer may have."""
    usage: Usage | None
    """What the recorded answer took, if there is one."""
    first: bool
    """Whether no request before it was the same."""
    parts: int = 1
    """Judgments that its answer holds, or sessions that it is about."""
    weight: float = 1.0
    """How many requests of the whole study it stands for."""


@dataclass
class _Log:
    recorded: Recorded
    assumed: Mapping[str, float]
    """Answer tokens by stage where no answer is recorded."""
    requests: list[Request] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    """Requests of the episode that earlier rounds asked."""


class StandIn:
    """A role that answers from records, or something of the right form."""

    def __init__(self, method: str, role: str, name: str, log: _Log, asking: Asking) -> None:
        self.name = name
        self._method, self._role, self._log, self._cap = method, role, log, asking.cap
        self._how = asking.settings.role(role)

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        """One answer each, noted; a request is answered in the round after the one that asks it."""
        asked = {ask.digest(self.name) for ask in asks}
        if new := asked - self._log.known:
            self._log.known |= new
            raise PendingAnswers(len(new), "")
        return [self._one(ask) for ask in asks]

    def _one(self, ask: Ask) -> Reply:
        log, request = self._log, ask.digest(self.name)
        known = log.recorded.answer(ask)
        chars = len(ask.system) + len(ask.user) + len(ask.schema)
        most = self._how.answer_tokens or ask.max_tokens
        most = min(most, self._cap or most)
        usage = None if known is None else known.usage
        log.requests.append(
            Request(
                self._method, self._role, ask.stage, chars, most, usage, request not in log.seen, parts_in(ask)
            )
        )  # fmt: skip
        log.seen.add(request)
        # A later reader of a free answer, such as the judge, is sent its estimated length.
        chars = int(CHARS_PER_TOKEN * min(log.assumed.get(ask.stage, OTHER_OUTPUT), most))
        return known or Reply(text=answer_to(ask, chars), usage=Usage(stage=ask.stage), model=self.name)


@dataclass(frozen=True)
class Sum:
    """The cost of some requests: for the method's account, and the part that has to be paid for."""

    method: str
    role: str
    stage: str
    calls: float
    input: float
    output: float
    most_output: float
    paid_calls: float
    paid_input: float
    paid_output: float
    recorded: float
    """Share of the calls whose answer is recorded."""


@dataclass(frozen=True)
class Estimate:
    """A plan's figures, and how they were computed."""

    sums: tuple[Sum, ...]
    rounds: Mapping[str, int]
    """By method: the most rounds of answers that an episode took. All episodes go together."""
    episodes: Mapping[str, int]
    played: Mapping[str, int]
    failed: Mapping[str, int]
    """Episodes in which a method could not be played to its end, by what it said."""
    left_out: tuple[str, ...]
    """Methods whose requests a memory store makes by itself."""
    chars_per_token: float
    calibrated: bool
    lengths: Mapping[str, float]
    """Answer tokens taken for a stage where the request has no recorded answer."""


@dataclass(frozen=True)
class Asking:
    """The methods, models and settings of a planned run."""

    methods: Sequence[str]
    models: Mapping[str, str]
    settings: Settings
    scales: Sequence[int] = ()
    """ManBench: numbers of active agents."""
    cap: int | None = None
    per_block: int = 2
    seed: int = 0
    chars_per_token: float | None = None


def estimate(
    cases: Sequence[Case[Any]], asking: Asking, recorded: Recorded, watch: Callable[[], None] = lambda: None
) -> Estimate:
    """Play a few episodes of every block with every method, and scale up to all."""
    blocks: defaultdict[str, list[Case[Any]]] = defaultdict(list)
    for case in cases:
        blocks[f"{case.episode.benchmark}/{case.labels.block}"].append(case)
    asked = {case.episode.benchmark for case in cases}
    usual = benchmark_named(asked.pop()).output_tokens if len(asked) == 1 else OUTPUT
    log, failed = _Log(recorded, {**usual, **recorded.lengths}), Counter[str]()
    planned = [name for name in asking.methods if not entry_named(name).asks_by_itself]
    played, rounds = {}, Counter[str]()
    requests: list[Request] = []
    for name, held in blocks.items():
        taken = random.Random(asking.seed).sample(held, min(asking.per_block, len(held)))  # noqa: S311  # repeatable
        played[name] = len(taken)
        for case in taken:
            played_agents = benchmark_named(case.episode.benchmark).plays_agents
            scales = asking.scales if played_agents and "actor" in asking.models else (None,)
            for method, agents in ((method, agents) for method in planned for agents in scales):
                settings = asking.settings if agents is None else asking.settings.with_agents(agents)
                begun = len(log.requests)
                took, why = _play(case, method, asking, settings, log)
                rounds[method] = max(rounds[method], took)
                failed.update([f"{method}: {why}"] if why else [])
                weight = len(held) / len(taken)
                requests += [replace(one, weight=weight) for one in log.requests[begun:]]
                watch()
    chars, calibrated = _chars_per_token(requests, asking)
    lengths = _lengths(requests, usual, recorded.lengths)
    return Estimate(
        sums=tuple(_sums(requests, chars, lengths)),
        rounds=dict(rounds),
        episodes={name: len(held) for name, held in blocks.items()},
        played=played,
        failed=dict(failed),
        left_out=tuple(name for name in asking.methods if name not in planned),
        chars_per_token=chars,
        calibrated=calibrated,
        lengths=lengths,
    )


def _play(case: Case[Any], method: str, asking: Asking, settings: Settings, log: _Log) -> tuple[int, str]:
    """Play one episode with one method, up to the judge, in rounds as through files.

    Returns how many there were, and what went wrong, if anything.
    """
    named = {role: StandIn(method, role, name, log, asking) for role, name in asking.models.items()}
    roles = Roles(
        actor=named.get("actor"),
        extractor=named.get("extractor"),
        verifier=named.get("verifier"),
        judge=named.get("judge"),
        embedder=Lexical(),
    )
    log.known, rounds = set(), 0
    begun, seen = len(log.requests), set(log.seen)
    while True:
        try:
            return rounds, _played(case, method, roles, settings)
        except PendingAnswers:
            # The next round asks all of it again.
            rounds += 1
            del log.requests[begun:]
            log.seen = set(seen)
        except (ReadmitError, ValueError) as error:
            return rounds, f"{type(error).__name__}: {error}"


def _played(case: Case[Any], method: str, roles: Roles, settings: Settings) -> str:
    benchmark = benchmark_named(case.episode.benchmark)
    if benchmark.plays_agents and roles.actor is not None:
        case = benchmark.construct(case, roles.actor, settings).case
    made = attempt(case.episode, method_named(method, benchmark.name, roles, settings), roles, settings)
    return scored(case, method, made, roles, settings).failure


def _chars_per_token(requests: Sequence[Request], asking: Asking) -> tuple[float, bool]:
    if asking.chars_per_token is not None:
        return asking.chars_per_token, False
    known = [(one.chars, one.usage.input) for one in requests if one.usage is not None and one.usage.input]
    if not known:
        return CHARS_PER_TOKEN, False
    return sum(chars for chars, _ in known) / sum(tokens for _, tokens in known), True


def _lengths(
    requests: Sequence[Request], assumed: Mapping[str, float], in_runs: Mapping[str, float]
) -> dict[str, float]:
    """Lengths by stage and part: recorded for the same requests, else in runs, else assumed."""
    known: defaultdict[str, list[float]] = defaultdict(list)
    for one in requests:
        if one.usage is not None:
            known[one.stage].append(one.usage.output / one.parts)
    found = {}
    for stage in dict.fromkeys(one.stage for one in requests):
        own = known.get(stage)
        parts = [one.parts for one in requests if one.stage == stage]
        # A run records the length of whole answers to requests like these.
        run = in_runs[stage] * len(parts) / sum(parts) if stage in in_runs else None
        usual = assumed.get(stage, OTHER_OUTPUT) if run is None else run
        found[stage] = sum(own) / len(own) if own else usual
    return found


def _sums(requests: Sequence[Request], chars_per_token: float, lengths: Mapping[str, float]) -> list[Sum]:
    groups: dict[tuple[str, str, str], list[Request]] = {}
    order = list(dict.fromkeys(one.method for one in requests))
    for one in sorted(requests, key=lambda one: order.index(one.method)):
        groups.setdefault((one.method, one.role, one.stage), []).append(one)
    return [_sum(own, key, chars_per_token, lengths) for key, own in groups.items()]


def _sum(
    own: Sequence[Request], key: tuple[str, str, str], chars_per_token: float, lengths: Mapping[str, float]
) -> Sum:
    def sent(one: Request) -> float:
        return one.weight * (one.usage.input if one.usage and one.usage.input else one.chars / chars_per_token)

    def got(one: Request) -> float:
        return one.weight * (one.usage.output if one.usage else min(lengths[one.stage] * one.parts, one.most))

    paid = [one for one in own if one.first]
    calls = sum(one.weight for one in own)
    return Sum(
        *key,
        calls=calls,
        input=sum(map(sent, own)),
        output=sum(map(got, own)),
        most_output=sum(one.weight * one.most for one in own),
        paid_calls=sum(one.weight for one in paid),
        paid_input=sum(map(sent, paid)),
        paid_output=sum(map(got, paid)),
        recorded=sum(one.weight for one in own if one.usage) / calls,
    )
