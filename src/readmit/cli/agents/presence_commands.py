"""``present``, ``subscribe``, ``look``: what an agent, or its harness, does between departure and return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from readmit.cli import options
from readmit.cli.command import command
from readmit.cli.options import WHO

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from readmit.cli.command import Invocation
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
    invocation: Invocation,
    /,
    *,
    principal: str,
    role: str,
    task: str,
    lease: timedelta,
    token: int | None,
    epoch: int | None,
) -> None:
    """Let an agent be present under a lease, or renew its lease.

    If the lease runs out, `readmit admin sweep` departs for the agent at the last epoch it had seen, and nothing that
    it writes is accepted until it returns.
    """
    from readmit.cli.output import shown

    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        presence = agent.present(lease=lease, epoch=epoch, token=token)
        until = presence.until
    invocation.say(
        {"token": presence.token, "until": until.isoformat()},
        f"{shown(principal)} is present until {until.isoformat(timespec='seconds')} (token {presence.token})",
    )


@command("subscribe", examples=(f"readmit subscribe {WHO}", f"readmit subscribe {WHO} --once --json"))
@options.identity
@click.option("--every", type=click.FloatRange(0.01), default=30, show_default=True, metavar="SECONDS",
              help="Look at least this often, though no commit was announced.")  # fmt: skip
@click.option("--once", is_flag=True, help="Print what has fallen already, and stop.")
def subscribe_agent(
    invocation: Invocation, /, *, principal: str, role: str, task: str, every: float, once: bool
) -> None:
    """Print each item of the view that an agent holds as soon as it no longer stands.

    It says the item and its state, which the agent may know, and nothing of what took it out. Stop it with Ctrl-C.
    """
    from readmit.cli.output import emit, show, shown

    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        with agent.subscribe(every=every) as held:
            fallen: Iterable[FallenItem] = held.wait(0) if once else held
            try:
                for one in fallen:
                    if invocation.json:
                        emit(one)
                    else:
                        show(shown(f"{one.item} is {one.state} (view {one.return_id})"))
            except KeyboardInterrupt:
                show("Stopped.")


@command("look", examples=(f"readmit look {WHO}",))
@options.identity
@click.option("--purpose", metavar="NAME", help="What the agent comes back for.")
def look_for_agent(invocation: Invocation, /, *, principal: str, role: str, task: str, purpose: str | None) -> None:
    """Look at the sources behind the return of an agent that is away, and write down what was found.

    A return does this by itself. Doing it before, from a scheduled job, say, tells what changed earlier.
    """
    from readmit.cli.output import emit, show, shown
    from readmit.records.acts.looks import Looked

    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        found = agent.look(purpose=purpose) or Looked()
    if invocation.json:
        emit(found)
        return
    if not found.evidence:
        show("Nothing to write down: no source is due, or each is as the last look found it")
        return
    show(f"Written down: {len(found.evidence)}, of which unchanged: {len(found.unchanged)}")
    for one in found.found:
        show(f"  {one.evidence[:12]} {one.finding}" + (f": {shown(one.why)}" if one.why else ""))
