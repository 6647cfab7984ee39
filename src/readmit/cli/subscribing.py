"""``subscribe``: what falls of the view that an agent holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from readmit.cli import options
from readmit.cli.command import command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.cli.command import Invocation
    from readmit.presence.subscription import FallenItem

WHO = "--principal A1 --role planner --task trip"


def add_to(group: click.Group) -> None:
    """Add the command."""
    examples = (f"readmit subscribe {WHO}", f"readmit subscribe {WHO} --once --json")
    command(group, "subscribe", examples=examples)(subscribe)


@options.identity
@click.option("--every", type=click.FloatRange(0.01), default=30, show_default=True, metavar="SECONDS",
              help="Look at least this often, though no commit was announced.")  # fmt: skip
@click.option("--once", is_flag=True, help="Print what has fallen already, and stop.")
def subscribe(invocation: Invocation, /, *, principal: str, role: str, task: str, every: float, once: bool) -> None:
    """Print each item of the view that an agent holds as soon as it no longer stands.

    It says the item and its state, which the agent may know, and nothing of what took it out. Stop it with Ctrl-C.
    """
    import msgspec

    from readmit.cli.output import emit, show, shown

    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        with agent.subscribe(every=every) as held:
            fallen: Iterable[FallenItem] = held.wait(0) if once else held
            try:
                for one in fallen:
                    if invocation.json:
                        emit(msgspec.to_builtins(one))
                    else:
                        show(shown(f"{one.item} is {one.state} (view {one.return_id})"))
            except KeyboardInterrupt:
                show("Stopped.")
