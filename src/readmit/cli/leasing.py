"""``present``, ``sweep``: agents that must be heard of, and departures for those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from readmit.cli import options
from readmit.cli.command import command
from readmit.cli.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.cli.command import Invocation
    from readmit.presence.lease import Sweep

WHO = "--principal A1 --role planner --task trip"


def add_to(group: click.Group) -> None:
    """Add the commands."""
    examples = (f"readmit present {WHO} --lease 10m", f"readmit present {WHO} --lease 10m --token 41")
    command(group, "present", examples=examples)(present)
    command(group, "sweep", examples=("readmit sweep", "readmit sweep --every 5"))(sweep)


@options.identity
@options.signer
@click.option("--lease", required=True, metavar="DURATION", help="How long without a renewal, as in 90s or 10m.")
@click.option("--token", type=int, help="Renew the presence with this token, and no other.")
@click.option("--epoch", type=int, help="How far the agent has followed the log. Default: to its view, or to the end.")
def present(
    invocation: Invocation, /, *, principal: str, role: str, task: str, lease: str, token: int | None, epoch: int | None
) -> None:
    """Let an agent be present under a lease, or renew its lease.

    If the lease runs out, `readmit sweep` departs for the agent at the last epoch it had seen, and nothing that it
    writes is accepted until it returns.
    """
    from readmit.cli.output import emit, show, shown
    from readmit.scenario.durations import duration

    length = duration(lease, field="--lease")
    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        presence = agent.present(lease=length, epoch=epoch, token=token)
        until = presence.until
    if invocation.json:
        emit({"token": presence.token, "until": until.isoformat()})
    else:
        show(f"{shown(principal)} is present until {until.isoformat(timespec='seconds')} (token {presence.token})")


@click.option("--every", type=click.FloatRange(0.1), metavar="SECONDS", help="Go on, and look this often.")
@click.option("--trust-clock", is_flag=True, help="Judge leases by the clock, however far it is ahead of the log.")
def sweep(invocation: Invocation, /, *, every: float | None, trust_clock: bool) -> Status:
    """Depart for every agent whose lease ran out.

    Without --every it looks once. If the clock is ahead of the log, nobody wrote since or the clock is wrong: leases
    that only the clock ends are named, not ended, and the status is 8. With --every, they are ended once they were seen
    unrenewed for their whole length. Stop it with Ctrl-C.
    """
    from readmit.cli.output import show

    unjudged = False
    with invocation.open() as workspace:
        sweeper = workspace.admin.sweeper(trust_clock=trust_clock)
        sweeps: Iterable[Sweep] = [sweeper.sweep()] if every is None else sweeper.follow(every=every)
        try:
            for found in sweeps:
                _print(invocation, found)
                unjudged = bool(found.unjudged)
        except KeyboardInterrupt:
            show("Stopped.")
    return Status.UNWELL if unjudged else Status.OK


def _print(invocation: Invocation, found: Sweep) -> None:
    from readmit.cli.entries import agent
    from readmit.cli.output import emit, show, shown

    if invocation.json:
        import msgspec

        emit(msgspec.to_builtins(found))
        return
    for one in found.departed:
        show(shown(f"{agent(one.identity)} departed at epoch {one.epoch} (departure {one.id}): {one.reason}"))
    for lease in found.unjudged:
        show(
            shown(
                f"{agent(lease.identity)}: the lease is over by this clock alone, which is {lease.ahead} s ahead of "
                "the log. If it is right, run `readmit sweep --trust-clock`; or let `readmit sweep --every 5` watch it"
            )
        )
    if not (found.departed or found.unjudged):
        show("No lease ran out.")
