"""``depart``, ``return``, ``expose``, ``acknowledge``: an agent leaves, comes back, and gets its view."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from readmit.cli import options
from readmit.cli.command import Invocation, command
from readmit.cli.decision_words import agent_json, decision_json, detail_lines, report_parts, verdict_line
from readmit.cli.model_use import model_options
from readmit.cli.options import WHO
from readmit.cli.output import emit, show
from readmit.cli.references import Reference
from readmit.cli.status import OF_DECISION, Status
from readmit.records.canonical import canonical
from readmit.records.error_types import ExposureError
from readmit.returning.expose import Bundle
from readmit.rules.readmission.render import Form
from readmit.text.escapes import one_line
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.diagnosis.symptoms import Diagnosis
    from readmit.inference import Prepared
    from readmit.workspace.return_handle import Return


@command("depart", examples=(f"readmit depart {WHO}",))
@options.identity
@options.signer
@click.option("--id", "name", metavar="ID", help="Name of the departure. Each name can be used once.")
@click.option("--epoch", type=int, help="For an agent that crashed: how far it had followed the log.")
def depart_agent(invocation: Invocation, /, *, name: str | None, epoch: int | None, **who: str) -> None:
    """Seal the events that an agent can see now, and quarantine its private bank."""
    with invocation.agent(**who) as agent:
        departed = agent.depart(id=name, epoch=epoch)
    said = {name: getattr(departed, name) for name in ("epoch", "events", "digest")}
    invocation.say(
        {"departure": departed.id, **said},
        f"{one_line(who['principal'])} departed at epoch {departed.epoch} (departure {departed.id}); "
        f"what it can see (events: {departed.events}) is sealed under {departed.digest[:12]}…",
    )


@command(
    "return",
    examples=(
        f"readmit return {WHO}",
        f"readmit return {WHO} --agent-facing --json",
        f"readmit return {WHO} --prepare --verifier openai:gpt-5 --embedder minilm",
    ),
    ends_with=(Status.OK, Status.BLOCKED, Status.RESET, Status.WAITING),
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
@model_options.team_options(required=False)
def return_agent(
    invocation: Invocation, /, *, principal: str, role: str, task: str, agent_facing: bool, envelope: str | None,
    prepare: bool, purpose: str | None, checkpoint: str | None, name: str | None, **team: Any,
) -> Status:  # fmt: skip
    """Decide what a returning agent may still act on.

    Prints the decision with coverage, the outcome of every duty and every candidate, and if something is missing, why,
    as `readmit why` does, with the commands that would fix it. An admitted return is handed over by `readmit expose`,
    which needs the return's id and the secret printed here: only its hash is stored.

    With --prepare, models first look for implicit changes, as `readmit prepare` does. A pair
    that gets no answer leaves a suspicion, and the return is decided on what is known. If preparing itself fails, the
    return is refused (internal_error). While answers are pending, nothing is decided, and it ends with 6.
    """
    _require(team, prepare=prepare)
    asked: dict[str, Any] = {"purpose": purpose, "checkpoint": checkpoint, "id": name}
    prepared: list[Prepared] = []
    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        if prepare:
            with model_options.open_inference(workspace, team) as inference:
                returned = inference.come_back(agent, report=prepared.append, **asked)
        else:
            returned = agent.come_back(**asked)
        stored = desk_of(workspace).log.audit.decision(returned.id)
        why = returned.why() if returned.falls_short and not agent_facing else None
    if envelope is not None and stored is not None and stored.seal is not None:
        Path(envelope).write_bytes(canonical(stored.envelope()) + b"\n")
    # What was examined, and what failed, is for the operator, never for the returning agent.
    reported = () if agent_facing else prepared
    if invocation.json:
        decision = returned.decision
        said = agent_json(decision) if agent_facing else decision_json(decision, returned.dispositions, why)
        prepared_as = {"prepared": reported[-1]} if reported else {}
        emit({**said, "secret": returned.secret, **prepared_as})
    else:
        _print(invocation, returned, why, reported, agent_facing=agent_facing)
    return OF_DECISION[returned.kind]


def _require(team: dict[str, Any], *, prepare: bool) -> None:
    """Models are named to be used, and a preparation needs one."""
    source = click.get_current_context().get_parameter_source
    given = [name for name in model_options.NAMES if source(name) is ParameterSource.COMMANDLINE]
    if given and not prepare:
        raise click.UsageError(f"--{given[0].replace('_', '-')} has no use without --prepare")
    if prepare and team["verifier"] is None:
        raise click.UsageError("--prepare needs --verifier: who judges what may have changed")


def _print(
    invocation: Invocation,
    returned: Return,
    why: Diagnosis | None,
    prepared: Sequence[Prepared],
    *,
    agent_facing: bool,
) -> None:
    decision, who = returned.decision, returned.request.identity
    for one in prepared:
        show(*map(one_line, model_options.prepared_lines(one)), "")
    if agent_facing:
        show(verdict_line(decision), *detail_lines(decision, private=False))
    else:
        show(*report_parts(decision, returned.dispositions, why, store=invocation.store_options))
    show("", f"Return {returned.id} at epoch {decision.epoch}, secret {returned.secret}")
    if decision.faults and not agent_facing:
        show("", "What would fix it:", f"  readmit why {one_line(returned.id)}{invocation.store_options}")
    words = ["readmit", "expose", returned.id, "--secret", returned.secret]
    words += ["--principal", who.principal, "--role", who.role, "--task", who.task]
    words += ["--db", invocation.store, "--workspace", invocation.workspace]
    if decision.view is not None:
        show("", "Hand it over:", f"  {one_line(shlex.join(words))}")
    elif decision.retracting is not None:
        show("", "Hand over what no longer holds:", f"  {one_line(shlex.join([*words, '--retractions']))}")


_SECRET = click.option(
    "--secret", required=True, metavar="TEXT", help="What `readmit return` printed for the workload."
)


@command(
    "expose",
    examples=(
        f"readmit expose RETURN --secret SECRET {WHO}",
        f"readmit expose RETURN --secret SECRET {WHO} --retractions",
        f"readmit expose RETURN --secret SECRET {WHO} --form brief --asked 'Which hotel is it?'",
    ),
    ends_with=(Status.BLOCKED,),
)
@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@_SECRET
@options.identity
@click.option("--retractions", is_flag=True, help="Of a blocked return: hand over what no longer holds, and no item.")
@click.option("--envelope", type=click.Path(dir_okay=False), metavar="FILE", help="Write the signed view to this file.")
@click.option(
    "--form",
    type=click.Choice(get_args(Form)),
    default="full",
    show_default=True,
    help="brief: one line a statement, for a small model.",
)
@click.option(
    "--asked", default="", metavar="TEXT", help="What the agent is to answer; brief says what of it has ended."
)
def expose_view(
    invocation: Invocation, /, *, return_id: str, secret: str, retractions: bool, envelope: str | None, form: Form,
    asked: str, **who: str,
) -> Status:  # fmt: skip
    """Check a view again at this moment and hand it over.

    Prints the bundle for a prompt as Markdown, or as JSON with --json. Of items left out it names only those that the
    agent held and that no longer hold. If it gets lost, ask again: until the workload acknowledges it, writes or
    departs, it gets the same bundle. A return that was blocked for what it lacks hands over no item; --retractions
    hands over what no longer holds, and the agent stays away.
    """
    if form == "full" and asked:
        raise click.UsageError("--asked is for --form brief: the full form is the same for every message.")
    if form != "full" and (retractions or invocation.json):
        raise click.UsageError("--form is for the Markdown of a view: leave out --retractions and --json.")
    with invocation.agent(**who) as agent:
        delivery = agent.delivery(return_id, secret=secret)
        try:
            bundle = delivery.expose_retractions() if retractions else delivery.expose()
        except ExposureError as error:
            return _refused(invocation, return_id, "exposed", error)
    if envelope is not None:
        Path(envelope).write_bytes(canonical(bundle.envelope) + b"\n")
    text = bundle.markdown(form=form, asked=asked) if isinstance(bundle, Bundle) else bundle.markdown()
    click.echo(bundle.json() if invocation.json else text, nl=invocation.json)
    return Status.OK


@command("acknowledge", examples=(f"readmit acknowledge RETURN --secret SECRET {WHO}",), ends_with=(Status.BLOCKED,))
@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@_SECRET
@options.identity
def acknowledge_view(invocation: Invocation, /, *, return_id: str, secret: str, **who: str) -> Status:
    """Say that the bundle of a return has arrived. From then on it is not handed over again."""
    with invocation.agent(**who) as agent:
        try:
            agent.delivery(return_id, secret=secret).acknowledge()
        except ExposureError as error:
            return _refused(invocation, return_id, "acknowledged", error)
    has_it = f"{one_line(who['principal'])} has the view of return {one_line(return_id)}"
    invocation.say({"return": return_id, "acknowledged": True}, has_it)
    return Status.OK


def _refused(invocation: Invocation, return_id: str, asked: str, error: ExposureError) -> Status:
    if invocation.json:
        emit({"return": return_id, asked: False, "reasons": list(error.reasons)})
    else:
        click.echo(f"refused: {one_line(str(error))}", err=True)
    return Status.BLOCKED
