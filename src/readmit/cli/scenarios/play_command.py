"""``readmit play``: a scenario, from a file to its decisions."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from readmit.cli import error_lines
from readmit.cli.command import Invocation, command
from readmit.cli.decision_words import decision_json, report_parts
from readmit.cli.output import emit, progress, show
from readmit.log.location import MEMORY
from readmit.text.english import counted
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from readmit.scenario.play import Play, PlayedReturn


@command(
    "play",
    store=False,
    examples=(
        "readmit play examples/travel.json",
        "readmit play examples/travel.json --db trip.db --json",
        "readmit play --schema",
    ),
)
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--db", metavar="FILE", help="Keep what is played in this database. Default: in memory.")
@click.option("--workspace", metavar="NAME", help="Play in this workspace instead of the scenario's own.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenarios and stop.")
def play_scenario(
    invocation: Invocation, /, *, file: BinaryIO | None, db: str | None, workspace: str | None, schema: bool
) -> None:
    """Play a scenario and print each decision with the outcome of every duty and every item.

    A scenario is one JSON document with a team's steps in order; - reads it from standard input. A scenario that
    cannot be played to its end changes nothing. Exit status 0 means that it was played, whatever was decided.
    """
    from readmit.scenario.document import read_scenario, scenario_schema
    from readmit.scenario.play import played

    if schema:
        emit(scenario_schema())
        return
    if file is None:
        raise click.UsageError("name a scenario file, - for standard input, or --schema")
    scenario = read_scenario(file.read(), file=error_lines.name_of(file))
    with ExitStack() as stack:
        with progress("Playing", len(scenario.steps)) as watch:
            done = stack.enter_context(played(scenario, db or MEMORY, name=workspace, watch=watch))
        if not invocation.json:
            _print(done)
            return
        emit(
            {
                "scenario": scenario.name,
                "workspace": done.workspace.name,
                "epoch": done.workspace.epoch,
                "returns": [_played_json(one) for one in done.returns],
            }
        )


def _played_json(one: PlayedReturn) -> dict[str, Any]:
    returned = one.outcome
    return {
        "as": one.label,
        "step": one.step,
        "secret": returned.secret,
        **decision_json(returned.decision, one.dispositions, one.why),
        "exposed": one.bundle is not None,
        "refused": list(one.refused),
    }


def _print(done: Play) -> None:
    from rich.text import Text

    show(Text(one_line(done.scenario.name), style="bold"))
    for one in done.returns:
        who = one.outcome.request.identity
        heading = (
            f"{one.label}: {who.principal} returns as {who.role} for {who.task} at epoch {one.outcome.request.epoch}"
        )
        show("", Text(one_line(heading), style="bold"))
        show(*report_parts(one.outcome.decision, one.dispositions, one.why))
        if one.bundle is not None:
            show("", "The view was exposed.")
        if one.refused:
            show("", f"The view was not exposed: {', '.join(one.refused)}")
    if not done.returns:
        show(
            f"Nobody returned. Workspace {one_line(done.workspace.name)} holds "
            f"{counted(done.workspace.epoch, 'event')}."
        )
