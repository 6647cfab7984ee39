"""Options that name the models and settings of a preparation; and its result as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from readmit.cli.options import bundled, grouped
from readmit.text.english import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from readmit.inference import Inference, Prepared
    from readmit.workspace.workspace import Workspace

F = TypeVar("F", bound="Callable[..., Any]")

MODEL = "openai:NAME?base_url=…&key_env=…, gguf:PATH, batch:DIR?model=NAME or recorded:PATH"
_option = grouped("Models")


def team_options(*, required: bool = True) -> Callable[[F], F]:
    """The models. ``required``: whether the command needs them."""
    return bundled(
        _option(
            "--verifier",
            metavar="MODEL",
            required=required,
            envvar="READMIT_VERIFIER",
            help=f"Who judges pairs: {MODEL}. [env: READMIT_VERIFIER]",
        ),
        _option("--second-verifier", metavar="MODEL", help="Who confirms verdicts on critical items, if set."),
        _option(
            "--implier", metavar="MODEL", help="Who writes premises and implied facts. Without it, they are not used."
        ),
        _option("--scanner", metavar="MODEL", help="Who scans, if the settings name that signal."),
        _option(
            "--linker",
            metavar="MODEL",
            help="Who says which items meet which needs. Without it, needs that a model planned are met by nearness.",
        ),
        _option(
            "--embedder",
            metavar="NAME",
            help="minilm, lexical or openai:MODEL:DIMENSIONS. Without it, no text is compared.",
        ),
        _option(
            "--settings", type=click.File("rb"), metavar="FILE", help="Settings as JSON; see docs/guide/implicit.md."
        ),
    )


NAMES = ("verifier", "second_verifier", "implier", "scanner", "linker", "embedder", "settings")


def open_inference(workspace: Workspace, given: Mapping[str, Any]) -> Inference:
    """The models of a command, ready to work."""
    from readmit.inference import Inference, settings_from

    settings = given["settings"]
    chosen = {name: given[name] for name in NAMES if name != "settings"}
    made = Inference(workspace, None if settings is None else settings_from(settings.read()), **chosen)
    # Now, so that a typing mistake is an error and does not refuse a return.
    made.team.require(made.settings)
    return made


def prepared_lines(prepared: Prepared) -> Iterator[str]:
    """One preparation, for the operator."""
    who = prepared.identity
    yield (
        f"{who.principal} as {who.role} for {who.task}, epoch {prepared.epoch}: {counted(prepared.targets, 'item')}, "
        f"{counted(prepared.open, 'open pair')}, {prepared.judged} judged, {prepared.reused} known, "
        f"{len(prepared.invalidated)} changed, {prepared.unanswered} unanswered, "
        f"{counted(prepared.nothing_stated, 'observation')} read, nothing stated"
    )
    yield from (f"  changed: {name}" for name in prepared.invalidated)
    yield from (f"  says what is true instead: {name}" for name in prepared.replacements)
    if prepared.links or prepared.links_dropped:
        yield f"  {counted(prepared.links, 'link')} between needs and items, {prepared.links_dropped} dropped"
    yield from (f"  nothing meets: {name}" for name in prepared.unmet)
    for stage in prepared.usage:
        yield f"  {stage.stage}: {counted(stage.calls, 'call')}, {stage.input:,} in, {stage.output:,} out"
    yield from (f"  {fault}" for fault in prepared.faults)
