"""``depart``, ``return``, ``expose``, ``acknowledge``: an agent leaves, comes back, and gets what it may act on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from readmit.cli import options, teams
from readmit.cli.command import command
from readmit.cli.references import Reference
from readmit.cli.status import OF_DECISION, Status
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.cli.command import Invocation
    from readmit.diagnosis.missing_needs import Lack
    from readmit.inference import Prepared
    from readmit.workspace.return_handle import Return

WHO = "--principal A1 --role planner --task trip"


def add_to(group: click.Group) -> None:
    """Add the commands."""
    command(group, "depart", examples=(f"readmit depart {WHO}",))(depart)
    returning = (
        f"readmit return {WHO}",
        f"readmit return {WHO} --agent-facing --json",
        f"readmit return {WHO} --prepare --verifier openai:gpt-5 --embedder minilm",
    )
    command(group, "return", examples=returning)(come_back)
    exposing = (
        f"readmit expose RETURN --secret SECRET {WHO}",
        f"readmit expose RETURN --secret SECRET {WHO} --retractions",
    )
    command(group, "expose", examples=exposing)(expose)
    command(group, "acknowledge", examples=(f"readmit acknowledge RETURN --secret SECRET {WHO}",))(acknowledge)


@options.identity
@options.signer
@click.option("--id", "name", metavar="ID", help="Name of the departure. Each name can be used once.")
@click.option("--epoch", type=int, help="For an agent that crashed: how far it had followed the log.")
def depart(
    invocation: Invocation, /, *, principal: str, role: str, task: str, name: str | None, epoch: int | None
) -> None:
    """Seal what an agent can see now, and quarantine its private bank."""
    from readmit.cli.output import emit, show, shown

    with invocation.open() as workspace:
        departed = workspace.agent(principal, role=role, task=task).depart(id=name, epoch=epoch)
    if invocation.json:
        emit(
            {
                "departure": departed.id,
                "epoch": departed.epoch,
                "events": departed.events,
                "digest": departed.digest,
            }
        )
    else:
        show(
            f"{shown(principal)} departed at epoch {departed.epoch} (departure {departed.id}); "
            f"what it can see (events: {departed.events}) is sealed under {departed.digest[:12]}…"
        )


@options.identity
@click.option("--purpose", metavar="NAME", help="What the agent comes back for.")
@click.option(
    "--checkpoint", type=Reference("depart"), metavar="DEPARTURE", help="A departure other than the last one."
)
@click.option("--id", "name", metavar="ID", help="Name of the return.")
@click.option("--agent-facing", is_flag=True, help="Show only what the agent may see: nothing about items left out.")
@click.option("--envelope", type=click.Path(dir_okay=False), metavar="FILE", help="Write the signed view to this file.")
@click.option("--prepare", is_flag=True, help="First work out with models what has changed implicitly.")
@teams.models(required=False)
def come_back(
    invocation: Invocation, /, *, principal: str, role: str, task: str, agent_facing: bool, envelope: str | None,
    prepare: bool, purpose: str | None, checkpoint: str | None, name: str | None, **team: Any,
) -> Status:  # fmt: skip
    """Decide what a returning agent may still act on.

    Prints the decision with coverage, the outcome of every duty and every candidate, and what is missing: which items
    last met it, why they are out, and the call that would meet it. An admitted return is handed over by
    `readmit expose`, which needs the return's id and the secret printed here: only its hash is stored.

    With --prepare, models first look for implicit changes, as `readmit prepare` does. A pair
    that gets no answer leaves a suspicion, and the return is decided on what is known. If preparing itself fails, the
    return is refused (inference_failed). While answers are pending, nothing is decided, and it ends with 6.
    """
    from msgspec import to_builtins

    from readmit.cli.output import emit

    _require(team, prepare=prepare)
    asked: dict[str, Any] = {"purpose": purpose, "checkpoint": checkpoint, "id": name}
    prepared: list[Prepared] = []
    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        if prepare:
            with teams.opened(workspace, team) as inference:
                returned = inference.come_back(agent, report=prepared.append, **asked)
        else:
            returned = agent.come_back(**asked)
        stored = desk_of(workspace).log.audit.decision(returned.id)
        lacks = () if agent_facing else returned.lacking()
    if envelope is not None and stored is not None and stored.envelope is not None:
        Path(envelope).write_bytes(stored.envelope + b"\n")
    # What was examined, and what failed, is for the operator, never for the returning agent.
    reported = () if agent_facing else prepared
    if invocation.json:
        emit(
            _shape(returned, lacks, agent_facing=agent_facing)
            | ({"prepared": to_builtins(reported[-1])} if reported else {})
        )
    else:
        _print(invocation, returned, lacks, reported, agent_facing=agent_facing)
    return OF_DECISION[returned.kind]


def _require(team: dict[str, Any], *, prepare: bool) -> None:
    """Models are named to be used, and a preparation needs one."""
    source = click.get_current_context().get_parameter_source
    given = [name for name in teams.NAMES if source(name) is ParameterSource.COMMANDLINE]
    if given and not prepare:
        raise click.UsageError(f"--{given[0].replace('_', '-')} has no use without --prepare")
    if prepare and team["verifier"] is None:
        raise click.UsageError("--prepare needs --verifier: who judges what may have changed")


def _shape(returned: Return, lacks: Sequence[Lack], *, agent_facing: bool) -> dict[str, Any]:
    from readmit.cli import shapes

    decision = returned.decision
    said = {
        "return": returned.id,
        "secret": returned.secret,
        "epoch": decision.epoch,
        **shapes.outcome(decision),
        "reasons": list(decision.reasons),
    }
    if agent_facing:
        return said | {"experiences": {"readmitted": shapes.experiences(decision)["readmitted"]}}
    return said | {
        **shapes.account(decision),
        "lacking": shapes.lacking(lacks),
        "uncovered": list(decision.report.uncovered),
        "experiences": shapes.experiences(decision),
        "dispositions": [shapes.disposition(one) for one in returned.dispositions],
    }


def _print(
    invocation: Invocation,
    returned: Return,
    lacks: Sequence[Lack],
    prepared: Sequence[Prepared],
    *,
    agent_facing: bool,
) -> None:
    from readmit.cli import reports
    from readmit.cli.output import show, shown

    decision, who = returned.decision, returned.request.identity
    for one in prepared:
        show(*map(shown, teams.lines(one)), "")
    show(reports.verdict(decision), *reports.details(decision, private=not agent_facing))
    show(f"Return {returned.id} at epoch {decision.epoch}, secret {returned.secret}")
    store = ["--db", invocation.store, "--workspace", invocation.workspace]
    if not agent_facing:
        show(*reports.duties(decision), *reports.lacking(lacks))
        show("", reports.dispositions(returned.dispositions))
        if not returned.view or returned.partial or not returned.view.items:
            show("", "Why, and what would fix it:", f"  {shown(shlex.join(['readmit', 'why', returned.id, *store]))}")
    words = ["readmit", "expose", returned.id, "--secret", returned.secret]
    words += ["--principal", who.principal, "--role", who.role, "--task", who.task]
    words += store
    if decision.view is not None:
        show("", "Hand it over:", f"  {shown(shlex.join(words))}")
    elif decision.retracting is not None:
        show("", "Hand over what no longer holds:", f"  {shown(shlex.join([*words, '--retractions']))}")


_SECRET = click.option(
    "--secret", required=True, metavar="TEXT", help="What `readmit return` printed for the workload."
)


@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@_SECRET
@options.identity
@click.option("--retractions", is_flag=True, help="Of a blocked return: hand over what no longer holds, and no item.")
@click.option("--envelope", type=click.Path(dir_okay=False), metavar="FILE", help="Write the signed view to this file.")
def expose(
    invocation: Invocation, /, *, return_id: str, secret: str, principal: str, role: str, task: str,
    retractions: bool, envelope: str | None,
) -> Status:  # fmt: skip
    """Check a view again at this moment and hand it over.

    Prints the bundle for a prompt as Markdown, or as JSON with --json. Of items left out it names only those that the
    agent held and that no longer hold. If it gets lost, ask again: until the workload acknowledges it, writes or
    departs, it gets the same bundle. A return that was blocked for what it lacks hands over no item; --retractions
    hands over what no longer holds, and the agent stays away.
    """
    from readmit.cli.output import emit, shown
    from readmit.records.canonical import canonical
    from readmit.records.error_types import ExposureError

    with invocation.open() as workspace:
        try:
            delivery = workspace.agent(principal, role=role, task=task).delivery(return_id, secret=secret)
            bundle = delivery.expose_retractions() if retractions else delivery.expose()
        except ExposureError as error:
            if invocation.json:
                emit({"return": return_id, "exposed": False, "reasons": list(error.reasons)})
            else:
                click.echo(f"refused: {shown(str(error))}", err=True)
            return Status.BLOCKED
    if envelope is not None:
        Path(envelope).write_bytes(canonical(bundle.envelope) + b"\n")
    click.echo(bundle.json() if invocation.json else bundle.markdown(), nl=invocation.json)
    return Status.OK


@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@_SECRET
@options.identity
def acknowledge(
    invocation: Invocation, /, *, return_id: str, secret: str, principal: str, role: str, task: str
) -> Status:
    """Say that the bundle of a return has arrived. From then on it is not handed over again."""
    from readmit.cli.output import emit, show, shown
    from readmit.records.error_types import ExposureError

    with invocation.open() as workspace:
        try:
            workspace.agent(principal, role=role, task=task).delivery(return_id, secret=secret).acknowledge()
        except ExposureError as error:
            if invocation.json:
                emit({"return": return_id, "acknowledged": False, "reasons": list(error.reasons)})
            else:
                click.echo(f"refused: {shown(str(error))}", err=True)
            return Status.BLOCKED
    if invocation.json:
        emit({"return": return_id, "acknowledged": True})
    else:
        show(f"{shown(principal)} has the view of return {shown(return_id)}")
    return Status.OK
