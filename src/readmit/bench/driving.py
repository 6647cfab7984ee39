"""inspect_ai carries out the tasks: here its ``eval`` is called, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspect_ai import Task, eval  # noqa: A004  # inspect's own name
from inspect_ai.model import get_model

from readmit.bench import provider
from readmit.bench.provider import inspect_name
from readmit.records.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def drive(tasks: Sequence[Task], models: Mapping[str, str], logs: Path, *, display: str) -> None:
    """Run the tasks one after the other. A sample that ends in an error is a defect, and is raised."""
    _ = provider.readmit  # registers the provider
    roles = {role: get_model(inspect_name(spec)) for role, spec in models.items()}
    for task in tasks:
        (log,) = eval(
            task,
            model=next(iter(roles.values())),
            model_roles=dict(roles),
            log_dir=str(logs),
            display=display,  # type: ignore[arg-type]  # one of inspect's own names
            fail_on_error=False,
            log_model_api=False,
            score_display=False,
        )
        if log.status == "error" and log.error is not None:
            raise ModelError(f"{log.eval.task}: {log.error.message}")
        for sample in log.samples or []:
            if sample.error is not None:
                raise ModelError(f"{log.eval.task}, episode {sample.id}: {sample.error.message}")
