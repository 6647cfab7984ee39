"""Plans a task and opens its obligations, with their dependencies, for the returning role."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference.derive import maker
from readmit.inference.field import NEED, PLANNED, need_key
from readmit.models.protocols import Failure
from readmit.models.stages.plan import PROMPT, PlannedDuty, Task, plan_tasks
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest
from readmit.records.error_types import ModelError
from readmit.records.items import Drafted
from readmit.text.carried import carried
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models.protocols import Model
    from readmit.workspace.workspace import Workspace


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """The opened obligations, and search queries for their evidence."""

    evidence: str
    obligations: tuple[str, ...]
    required: tuple[str, ...]
    critical: tuple[str, ...]
    queries: tuple[str, ...]


def plan_duties(workspace: Workspace, model: Model, text: str, *, by: str, role: str, task: str) -> Planned:
    """Plan a task and open its obligations, bound to the task's own words. The same task opens them once.

    They are marked as drafted by the planner and say no more than the task: wording that the task does not carry is
    replaced by the task's own. The description of each need is kept for the linker.
    """
    (said,) = plan_tasks(model, [Task(text=text, role=role)], workspace=workspace.name)
    if isinstance(said, Failure):
        raise ModelError(f"planner: {said.message}; nothing was opened, try again or open the obligations yourself")
    with workspace.batch():
        name = desk_of(workspace).log.keyed(digest(("plan", by, role, task, text)))[:32]
        evidence = workspace.observe(text, id=name, by=by, task=task)
        drafted = Drafted(model=maker(model.name, PROMPT)[:LONGEST_NAME])
        duties = [_in_words_of(text, duty, workspace.admin.policy.budgets.item_chars) for duty in said.duties]
        opened = tuple(_opened(workspace, duties, evidence, by=by, role=role, task=task, drafted=drafted))
    return Planned(
        evidence=evidence,
        obligations=opened,
        required=tuple(dict.fromkeys(name for duty in said.duties for name in duty.required)),
        critical=tuple(dict.fromkeys(name for duty in said.duties for name in duty.critical)),
        queries=said.queries,
    )


def _in_words_of(task: str, duty: PlannedDuty, most: int) -> PlannedDuty:
    return duty if carried(duty.text, task, task) else msgspec.structs.replace(duty, text=task.strip()[:most])


def _opened(
    workspace: Workspace,
    duties: Sequence[PlannedDuty],
    evidence: str,
    *,
    by: str,
    role: str,
    task: str,
    drafted: Drafted,
) -> Iterator[str]:
    for duty in duties:
        name = workspace.oblige(
            duty.text,
            id=f"o{digest((evidence, duty.id, duty.required))[:16]}",
            required=duty.required,
            critical=duty.critical,
            lists=duty.lists,
            sources=[evidence],
            by=by,
            roles=[role],
            task=task,
            drafted=drafted,
        )
        words = {need_key(name, one.id): one.text.encode() for one in duty.dependencies}
        desk_of(workspace).log.derived.write(NEED, PLANNED, words)
        yield name
