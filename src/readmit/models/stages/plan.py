"""Plans a task or question: the obligations of the returning role, and search queries for their evidence.

The planner reads only the task and no record, so that no text in the workspace can make it require less. Callers who
have structured obligations do not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.protocols import Failure, Fault, Usage
from readmit.models.stages.checks import distinct_lines, line, slug, too_long
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Ask, Model

PROMPT = "plan@2"
MIN_QUERIES = 3
MAX_QUERIES = 8
MAX_TOKENS = 2_048


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task to do or a question to answer."""

    text: str
    role: str = ""


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """A need of an obligation, to be met by evidence."""

    id: str
    text: str
    critical: bool
    many: bool = False
    """Whether it is a list: one piece of evidence meets it, and every further one is of use."""


class PlannedDuty(msgspec.Struct, frozen=True, kw_only=True):
    """One planned obligation: ``R_o`` are its dependencies, ``K_o`` the critical ones."""

    id: str
    text: str
    dependencies: tuple[Dependency, ...]

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.dependencies)

    @property
    def critical(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.dependencies if one.critical)

    @property
    def lists(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.dependencies if one.many)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The obligations and search queries of one task."""

    duties: tuple[PlannedDuty, ...]
    queries: tuple[str, ...]
    """Three to eight texts to search with."""


class Need(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dependency as the model proposes it."""

    name: str
    needed: str
    critical: bool
    many: bool


class Proposed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An obligation as the model proposes it."""

    obligation: str
    needs: Annotated[list[Need], msgspec.Meta(min_length=1, max_length=16)]


class Plans(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer about one task."""

    obligations: Annotated[list[Proposed], msgspec.Meta(min_length=1, max_length=8)]
    queries: Annotated[list[str], msgspec.Meta(min_length=MIN_QUERIES, max_length=MAX_QUERIES)]


def plan_tasks(
    model: Model,
    tasks: Sequence[Task],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[Plan | Failure]:
    """One plan or failure per task, in order. A plan that requires nothing is a failure."""
    sizes = [max(len(visible_text(text)) for text in (task.text, task.role)) for task in tasks]
    asks = [
        _ask(task, workspace, max_tokens, max_chars)
        for task, size in zip(tasks, sizes, strict=True)
        if size <= max_chars
    ]
    said = iter(ask_typed(model, asks, Plans))
    return [
        too_long("plan", "the task", size, max_chars) if size > max_chars else _checked(next(said)) for size in sizes
    ]


def _ask(task: Task, workspace: str, max_tokens: int, max_chars: int) -> Ask:
    sections = [Section("task", task.text), *([Section("role", task.role)] if task.role else [])]
    return request(PROMPT, sections, workspace=workspace, max_tokens=max_tokens, max_chars=max_chars)


def _checked(said: Plans | Failure) -> Plan | Failure:
    if isinstance(said, Failure):
        return said
    queries = distinct_lines(said.queries, MAX_QUERIES)
    if len(queries) < MIN_QUERIES:
        return _refused(f"the plan has {len(queries)} different queries; at least {MIN_QUERIES} are required")
    known: dict[str, Dependency] = {}
    duties: list[PlannedDuty] = []
    for number, proposed in enumerate(said.obligations, start=1):
        own: dict[str, Dependency] = {}
        for need in proposed.needs:
            name, text = slug(need.name), line(need.needed)
            if not name or not text:
                return _refused("a dependency of the plan has no usable name or says nothing")
            # Duplicates are one dependency, critical and a list if either is.
            before = known.get(name, Dependency(id=name, text=text, critical=False))
            own[name] = known[name] = msgspec.structs.replace(
                before, critical=need.critical or before.critical, many=need.many or before.many
            )
        text = line(proposed.obligation)
        if not text:
            return _refused("an obligation of the plan says nothing")
        duties.append(PlannedDuty(id=f"o{number}", text=text, dependencies=tuple(own.values())))
    agreed = [
        msgspec.structs.replace(duty, dependencies=tuple(known[name] for name in duty.required)) for duty in duties
    ]
    return Plan(duties=tuple(agreed), queries=queries)


def _refused(message: str) -> Failure:
    return Failure(fault=Fault.MALFORMED, message=message, usage=Usage(stage="plan"))
