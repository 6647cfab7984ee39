"""``readmit demo``: plays and shows the paper's travel case."""

from __future__ import annotations

import click

from readmit.cli.command import Invocation, command
from readmit.cli.decision_words import decision_json
from readmit.cli.output import emit, show
from readmit.log.location import MEMORY


@command(
    "demo",
    store=False,
    examples=(
        "readmit demo",
        "readmit demo --json",
        "readmit demo --db trip.db && readmit audit list --db trip.db --workspace family-trip",
    ),
)
@click.option("--db", metavar="FILE", help="Keep the demo in this database, to explore it. Default: in memory.")
def play_demo(invocation: Invocation, /, *, db: str | None) -> None:
    """Play the travel case of the paper: an agent leaves, the plan changes, the agent returns.

    The panels show decisions that readmit just made, not canned text.
    """
    from readmit.scenario.document import shipped
    from readmit.scenario.play import played

    with played(shipped("travel"), db or MEMORY) as done:
        if invocation.json:
            emit({one.label: decision_json(one.outcome.decision, one.dispositions, one.why) for one in done.returns})
            return
        from readmit.cli.scenarios.demo_panels import panels

        show(*panels(done))
