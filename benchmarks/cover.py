"""Greedy and exact cover on 500 items × 100 dependencies, in five shapes: found how often, and at what time.

Every instance holds a sufficient set by construction: a planted partition of the dependencies, whose size and
length the tight shapes take as their budgets. Times are CPU times of one process; deadlines are wall-clock.
``exact`` runs as it does after a failed greedy, for any sufficient set, with a deadline long enough to see it end;
how many of these runs end within the policy's default deadline is counted apart.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.result import sized
from readmit import Policy
from readmit.lab import report, sufficient
from readmit.records.items import Fact
from readmit.rules.cover.budget import Room
from readmit.rules.cover.coverage import supported
from readmit.rules.cover.exact import exact
from readmit.rules.cover.greedy import greedy
from readmit.types import Obligation, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.types import Item

T = TypeVar("T")

ITEMS, DEPENDENCIES, OBLIGATIONS = 500, 100, 20
MANY = sized(10_000, 500)
SEEDS = range(sized(5))
DEADLINE = 20_000
DEFAULT_DEADLINE = Policy().budgets.solver_milliseconds
ROOMY = 10**6


@dataclass(frozen=True)
class Shape:
    """How wide the items are, how many make up the planted set, and which budgets it fills exactly."""

    width: tuple[int, int]
    planted: int
    planted_length: tuple[int, int] = (60, 200)
    count_tight: bool = False
    chars_tight: bool = False


SHAPES = {
    "roomy": Shape((1, 5), 20),
    "count-tight": Shape((1, 5), 20, count_tight=True),
    "character-tight": Shape((1, 5), 20, (60, 120), chars_tight=True),
    "wide": Shape((10, 20), 10),
    "wide-and-tight": Shape((10, 20), 10, (30, 60), count_tight=True, chars_tight=True),
}


@dataclass(frozen=True)
class Instance:
    """What a selector is given."""

    evidence: tuple[Item, ...]
    obligations: tuple[Obligation, ...]
    policy: Policy


def instance(shape: Shape, seed: int, items: int = ITEMS) -> Instance:
    """One seeded instance of a shape."""
    draw = random.Random(seed)
    scope = Scope(workspace="bench")
    names = [f"d{number}" for number in range(DEPENDENCIES)]
    shuffled = draw.sample(names, DEPENDENCIES)
    planted = [tuple(shuffled[start :: shape.planted]) for start in range(shape.planted)]
    others = [tuple(draw.sample(names, draw.randint(*shape.width))) for _ in range(items - shape.planted)]
    lengths = [draw.randint(*shape.planted_length) for _ in planted] + [draw.randint(20, 400) for _ in others]
    order = draw.sample(range(items), items)
    supports = planted + others
    evidence = tuple(
        Fact(id=f"m{at}", text="x" * lengths[index], by="A2", scope=scope, supports=supports[index])
        for at, index in enumerate(order)
    )
    each = DEPENDENCIES // OBLIGATIONS
    obligations = tuple(
        Obligation(
            id=f"o{number}",
            text="do it",
            by="A1",
            scope=scope,
            required=tuple(names[number * each : (number + 1) * each]),
            critical=tuple(names[number * each : number * each + 2]),
        )
        for number in range(OBLIGATIONS)
    )
    policy = Policy(
        budgets={
            "items": shape.planted if shape.count_tight else ROOMY,
            "chars": sum(lengths[: shape.planted]) if shape.chars_tight else ROOMY,
        },
    )
    return Instance(evidence, obligations, policy)


def run(step: Callable[[int], None] = lambda _: None) -> list[dict[str, Any]]:
    """Every figure of this file; a bar of ``None`` makes no claim."""
    figures = []
    for name, shape in SHAPES.items():
        figures += _compare(name, shape)
        step(1)
    large = instance(SHAPES["roomy"], 0, MANY)
    seconds, _ = _timed(partial(greedy, *_given(large)))
    return [*figures, _figure(f"cover: greedy on {MANY:,} items", round(seconds * 1000, 1), None, "ms CPU")]


def _compare(name: str, shape: Shape) -> list[dict[str, Any]]:
    greedy_found = exact_found = in_time = proven = 0
    greedy_seconds = exact_seconds = 0.0
    for seed in SEEDS:
        case = instance(shape, seed)
        evidence, obligations, policy, room = _given(case)
        seconds, chosen = _timed(partial(greedy, evidence, obligations, policy, room))
        greedy_seconds += seconds
        greedy_found += sufficient(report(obligations, supported(chosen)), policy)
        patient = policy.changed(budgets={"solver_milliseconds": DEADLINE})
        start = time.perf_counter()
        seconds, cover = _timed(partial(exact, evidence, obligations, patient, room, first=True))
        in_time += cover.outcome != "undecided" and time.perf_counter() - start <= DEFAULT_DEADLINE / 1000
        exact_seconds += seconds
        exact_found += cover.outcome == "found"
        proven += exact(evidence, obligations, policy, room).cheapest
    of, limit = f"of {len(SEEDS)}", f"{DEFAULT_DEADLINE:,} ms"
    return [
        _figure(f"cover, {name}: found by greedy", greedy_found, None, of),
        _figure(f"cover, {name}: found by exact within {DEADLINE:,} ms", exact_found, len(SEEDS), of),
        _figure(f"cover, {name}: decided by exact within {limit}", in_time, None, of),
        _figure(f"cover, {name}: proven cheapest within {limit}", proven, None, of),
        _figure(f"cover, {name}: exact / greedy time", round(exact_seconds / greedy_seconds, 1), None, "x"),
    ]


def _given(case: Instance) -> tuple[tuple[Item, ...], tuple[Obligation, ...], Policy, Room]:
    return case.evidence, case.obligations, case.policy, Room.of(case.policy)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _figure(name: str, value: float, bar: float | None, unit: str) -> dict[str, Any]:
    return {"name": name, "value": value, "bar": bar, "unit": unit, "holds": bar is None or value >= bar}


if __name__ == "__main__":
    for figure in run():
        bar = "" if figure["bar"] is None else f"bar {figure['bar']}: {'holds' if figure['holds'] else 'MISSED'}"
        print(f"{figure['name']:<60} {figure['value']:>8} {figure['unit']:<8} {bar}")
