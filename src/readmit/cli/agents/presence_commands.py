"""``present``, ``subscribe``, ``look``: commands of an agent, or its harness, between departure and return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from readmit.cli import options
from readmit.cli.command import Invocation, command
from readmit.cli.options import WHO
from readmit.cli.output import show
from readmit.records.acts.looks import Looked
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from readmit.presence.subscription import FallenItem


@command("present", examples=(f"readmit present {WHO} --lease 10m", f"readmit present {WHO} --lease 10m --token 41"))
@options.identity
@options.signer
@click.option(
    "--lease",
    required=True,
    type=options.DURATION,
    metavar="DURATION",
    help="How long without a renewal, as in 90s or 10m.",
)
@click.option("--token", type=int, help="Renew the presence with this token, and no other.")
@click.option("--epoch", type=int, help="How far the agent has followed the log. Default: to its view, or to the end.")
def present_agent(
    invocation: Invocation, /, *, lease: timedelta, token: int | None, epoch: int | None, **who: str
) -> None:
    """Let an agent be present under a lease, or renew its lease.

    If the lease runs out, `readmit admin sweep` departs for the agent at the last epoch it had seen, and nothing that
    it writes is accepted until it returns.
    """
    with invocation.agent(**who) as agent:
        presence = agent.present(lease=lease, epoch=epoch, token=token)
        until = presence.until
    invocation.say(
        {"token": presence.token, "until": until.isoformat()},
        f"{one_line(who['principal'])} is present until {until.isoformat(timespec='seconds')} (token {presence.token})",
    )


@command("subscribe", examples=(f"readmit subscribe {WHO}", f"readmit subscribe {WHO} --once --json"))
@options.identity
@click.option("--every", type=click.FloatRange(0.01), default=30, show_default=True, metavar="SECONDS",
              help="Look at least this often, though no commit was announced.")  # fmt: skip
@click.option("--once", is_flag=True, help="Print what has fallen already, and stop.")
def subscribe_agent(invocation: Invocation, /, *, every: float, once: bool, **who: str) -> None:
    """Print each item of the view that an agent holds as soon as it no longer stands.

    It says the item and its state, which the agent may know, and nothing of what took it out. Stop it with Ctrl-C.
    """
    with invocation.agent(**who) as agent, agent.subscribe(every=every) as held:
        fallen: Iterable[FallenItem] = held.wait(0) if once else held
        try:
            for one in fallen:
                invocation.say(one, one_line(f"{one.item} is {one.state} (view {one.return_id})"))
        except KeyboardInterrupt:
            show("Stopped.")


@command("look", examples=(f"readmit look {WHO}",))
@options.identity
@click.option("--purpose", metavar="NAME", help="What the agent comes back for.")
def look_for_agent(invocation: Invocation, /, *, purpose: str | None, **who: str) -> None:
    """Look at the sources that the return of an absent agent rests on, and write down the findings.

    A return does this by itself. Doing it before, from a scheduled job, say, tells what changed earlier.
    """
    with invocation.agent(**who) as agent:
        found = agent.look(purpose=purpose) or Looked()
    done = "Nothing to write down: no source is due, or each is as the last look found it"
    if found.evidence:
        done = f"Written down: {len(found.evidence)}, of which unchanged: {len(found.unchanged)}"
    results = (
        f"  {one.evidence[:12]} {one.finding}" + (f": {one_line(one.why)}" if one.why else "") for one in found.found
    )
    invocation.say(found, done, *results)
