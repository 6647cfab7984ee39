"""Runs the tasks with inspect_ai. This is the only module that calls its ``eval``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspect_ai import Task, eval  # noqa: A004  # inspect's own name
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries, write_eval_log
from inspect_ai.model import GenerateConfig, Model, get_model

from readmit.errors import ModelError
from readmit_bench import provider
from readmit_bench.provider import Readmit, connections, inspect_name, samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspect_ai.log import EvalLog

    from readmit_bench.outages import Fuse
    from readmit_bench.study_runs import ProviderCalls


def drive(tasks: Sequence[Task], models: Mapping[str, str], logs: Path, how: ProviderCalls, fuse: Fuse) -> None:
    """Run the tasks one after the other, until all are done or providers fail.

    A sample that ends in an error is a bug, and is raised. ``KeyboardInterrupt`` if the user stopped it.
    """
    _ = provider.readmit  # registers the provider
    roles = {role: _fused(_model(spec, how), fuse) for role, spec in models.items()}
    try:
        _close_logs(logs)
        for task in tasks:
            if fuse.blown:
                return
            _driven(task, roles, logs, how.display, samples(models.values()))
    finally:
        for model in roles.values():
            if isinstance(model.api, Readmit):
                model.api.close()


def _model(spec: str, how: ProviderCalls) -> Model:
    config = GenerateConfig(
        max_connections=connections(spec, how.max_connections),
        max_retries=how.max_retries,
        attempt_timeout=how.timeout,
    )
    try:
        model = get_model(inspect_name(spec), config=config, memoize=False)
    except PrerequisiteError as error:
        raise ModelError(f"model {spec}: {error.message}") from None
    if isinstance(model.api, Readmit):
        model.api.returns_pending = True
    return model


def _fused(model: Model, fuse: Fuse) -> Model:
    """The model, which stops sending once the fuse has blown: hundreds of requests may still be queued."""
    send = model.api.generate

    async def generate(*args: Any, **kwargs: Any) -> Any:
        fuse.check()
        return await send(*args, **kwargs)

    model.api.generate = generate  # type: ignore[method-assign]  # inspect has no place to ask before each attempt
    return model


def _driven(task: Task, roles: Mapping[str, Model], logs: Path, display: str, at_once: int | None) -> None:
    done = eval(
        task,
        model=next(iter(roles.values())),
        model_roles=dict(roles),
        log_dir=str(logs),
        display=display,  # type: ignore[arg-type]  # one of inspect's own names
        fail_on_error=False,
        max_samples=at_once,
        log_model_api=False,
        log_header_only=True,
        score_display=False,
    )
    if not done or done[0].status == "cancelled":
        raise KeyboardInterrupt
    (log,) = done
    if log.status == "error" and log.error is not None:
        raise ModelError(f"{log.eval.task}: {log.error.message}")
    _check(log)


def _check(log: EvalLog) -> None:
    for sample in read_eval_log_sample_summaries(log.location):
        if sample.error is not None:
            raise ModelError(f"{log.eval.task}, episode {sample.id}: {sample.error}")


def _close_logs(logs: Path) -> None:
    """Close the logs of a killed process, which still say it runs. No other process uses the directory now."""
    for found in list_eval_logs(str(logs)) if logs.exists() else ():
        log = read_eval_log(found, header_only=True)
        if log.status == "started":
            log = read_eval_log(found)
            log.status = "cancelled"
            write_eval_log(log, found.name)
