"""A run without models: views are made in ``method_process``, checked and scored here, and nothing is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from readmit_bench import method_process
from readmit_bench.checkpoints import checkpoints
from readmit_bench.episode_runs import Roles, attempted, method_named, scored
from readmit_bench.methods import entry_named
from readmit_bench.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from readmit_bench.episodes import Case
    from readmit_bench.results import Result
    from readmit_bench.settings import Settings


def model_free(
    methods: Sequence[str],
    cases: Sequence[Case[Any]],
    out: Path,
    *,
    roles: Roles,
    settings: Settings,
    done: set[tuple[str, str, int | None]],
    watch: Callable[[int, int], None] | None,
) -> int:
    """Run everything that is left in this process; returns the number of episodes."""
    results = Results(out)
    planned = len(cases) * len(methods)
    finished = sum((name, case.episode.id, None) in done for name in methods for case in cases)
    open_cases = [case for case in cases if any((name, case.episode.id, None) not in done for name in methods)]
    made = checkpoints((case.episode for case in open_cases), settings, roles.embedder)
    here = [name for name in methods if not entry_named(name).runs_apart]
    by_name = {name: method_named(name, cases[0].episode.benchmark, roles, settings) for name in here}
    with method_process.MethodProcess() as elsewhere:
        for case, (_, checkpoint) in zip(open_cases, made, strict=True):
            names = [name for name in methods if (name, case.episode.id, None) not in done]
            views = elsewhere.views([name for name in names if name not in by_name], checkpoint)
            lines: list[Result] = []
            for name in names:
                attempt = attempted(name, views.get(name), by_name, checkpoint)
                # The ceiling of the checkpoint is the same for every method, so it is computed once.
                attempt = replace(attempt, reach=lines[0].reach if lines else None)
                lines.append(scored(case, name, attempt, Roles(), settings))
            results.append(lines)
            finished += len(lines)
            if watch is not None:
                watch(finished, planned)
    return len(open_cases)
