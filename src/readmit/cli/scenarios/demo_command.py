"""``readmit demo``: plays and shows a coding agent's return, and the paper's travel case."""

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
    """Play two returns: a coding agent resumes its session, and the paper's planner comes back to a changed trip.

    The panels show what readmit just decided, not canned text. --json and --db are about the trip.
    """
    from readmit.scenario.document import shipped
    from readmit.scenario.play import played

    with played(shipped("travel"), db or MEMORY) as done:
        if invocation.json:
            emit({one.label: decision_json(one.outcome.decision, one.dispositions, one.why) for one in done.returns})
            return
        from readmit.cli.scenarios.demo_panels import panels
        from readmit.cli.scenarios.session_demo import session_panel

        show(session_panel(), *panels(done))
