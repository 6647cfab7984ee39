"""The group of all commands."""

from __future__ import annotations

from importlib.metadata import version

import click

from readmit.cli import demo, play
from readmit.cli.status import MEANINGS


class InOrder(click.Group):
    """Lists commands in the order of the flow, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder, epilog=MEANINGS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("readmit"), prog_name="readmit")
def main() -> None:
    """What may a returning agent still act on?

    An agent departs, the team changes the shared state, the agent returns and gets a decision: a small signed
    bundle of what is still true, still allowed and still needed, or nothing when that would not be enough.

    \b
    Examples:
      readmit demo
      readmit init
      readmit record "Sunrise is booked" --source "Sunrise confirms." --by A2 --supports d_h
      readmit depart --principal A1 --role planner --task trip
      readmit return --principal A1 --role planner --task trip
    """


play.add_to(main)
demo.add_to(main)
