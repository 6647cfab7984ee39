"""The group of all commands."""

from __future__ import annotations

import click

from readmit.cli import (
    audit,
    backends,
    batch,
    demo,
    diagnosis,
    inferring,
    keys,
    page,
    play,
    plugins,
    queries,
    returning,
    writing,
)
from readmit.cli.command import write_examples
from readmit.cli.status import MEANINGS

EXAMPLES = (
    "readmit demo",
    "readmit init",
    'readmit record "Sunrise is booked" --source "Sunrise confirms." --by A2 --supports d_h',
    "readmit depart --principal A1 --role planner --task trip",
    "readmit return --principal A1 --role planner --task trip",
)


class Main(click.Group):
    """Lists commands in the order of the flow and those of plugins, then examples and what the exit status means."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [*self.commands, *(name for name in plugins.names() if name not in self.commands)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or plugins.plugged(cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_examples(EXAMPLES, formatter)
        with formatter.section("Exit status"):
            formatter.write_dl([(str(int(status)), meaning) for status, meaning in MEANINGS.items()])


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="readmit", prog_name="readmit")
def main() -> None:
    """What may a returning agent still act on?

    An agent departs, the team changes the shared state, the agent returns and gets a decision: a small signed
    bundle of what is still true, still allowed and still needed, or nothing when that would not be enough.
    """


for commands in (demo, play, writing, returning, inferring, queries, diagnosis, page, audit, keys, backends, batch):
    commands.add_to(main)
