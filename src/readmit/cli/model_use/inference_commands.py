"""``prepare``, ``watch``, ``ingest``, ``plan``: what models do for a workspace, before anything is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from readmit.cli import options
from readmit.cli.command import Invocation, command
from readmit.cli.model_use.model_options import MODEL, open_inference, prepared_lines, team_options
from readmit.cli.options import WHO
from readmit.cli.output import emit, plain, show
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.records.acts.event import EventKind
from readmit.text.english import counted
from readmit.text.escapes import one_line
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Sequence


_TEAM = "--verifier openai:gpt-5 --implier openai:gpt-5-mini --embedder minilm"
_ENDS = (Status.WAITING,)


@command("prepare", examples=(f"readmit prepare {WHO} {_TEAM} && readmit return {WHO}",), ends_with=_ENDS)
@options.identity
@team_options()
@click.option("--purpose", metavar="NAME", help="What the agent comes back for.")
@click.option(
    "--checkpoint", type=Reference("depart"), metavar="DEPARTURE", help="A departure other than the last one."
)
@click.option(
    "--resolve-by",
    metavar="NAME",
    help="First put open disputes to the verifier, and resolve those it is sure about in the name of this principal.",
)
def prepare_return(
    invocation: Invocation, /, *, principal: str, role: str, task: str, purpose: str | None, checkpoint: str | None,
    resolve_by: str | None, **team: Any,
) -> None:  # fmt: skip
    """Find implicit changes for one agent and write them to the log for its return.

    Ends with 6 while answers are pending. If it fails, do not return: nothing was examined.
    """
    with invocation.open() as workspace, open_inference(workspace, team) as inference:
        agent = workspace.agent(principal, role=role, task=task)
        resolved = () if resolve_by is None else inference.resolve(agent, by=resolve_by)
        prepared = inference.prepare(agent, purpose=purpose, checkpoint=checkpoint)
    outcomes = ("stays open" if one.keep is None else f"resolved for {one.keep}" for one in resolved)
    disputes = (f"dispute {one.dispute} {said}: {one.why}" for one, said in zip(resolved, outcomes, strict=True))
    invocation.say(
        plain(prepared) | ({} if resolve_by is None else {"resolved": resolved}),
        *map(one_line, (*disputes, *prepared_lines(prepared))),
    )


@command("watch", examples=(f"readmit watch {_TEAM}", f"readmit watch {_TEAM} --once --json"), ends_with=_ENDS)
@team_options()
@click.option(
    "--purpose", "purposes", multiple=True, metavar="NAME", help="Purposes that agents return for. Repeatable."
)
@click.option(
    "--every", type=click.FloatRange(0.1), default=2.0, show_default=True, metavar="SECONDS", help="How often to look."
)
@click.option("--once", is_flag=True, help="Bring everything up to date and stop.")
def watch_log(invocation: Invocation, /, *, purposes: Sequence[str], every: float, once: bool, **team: Any) -> None:
    """Do the work of a return when events arrive, for everyone who is away or holds a view.

    Announces every holder of a view with an item that no longer stands. Stop it with Ctrl-C; it continues from the log
    when started again.
    """
    with invocation.open() as workspace, open_inference(workspace, team) as inference:
        following = inference.watch(purposes=purposes or (None,))
        looks = iter([following.look()]) if once else following.follow(every=every)
        try:
            for look in looks:
                if invocation.json:
                    emit(look)
                    continue
                for prepared in look.prepared:
                    if prepared.eventful:
                        show(*map(one_line, prepared_lines(prepared)))
                for one in look.announced:
                    show(
                        one_line(f"{one.identity.principal} holds {one.item} in view {one.return_id}: now {one.state}")
                    )
        except KeyboardInterrupt:
            show("Stopped.")


@command(
    "ingest",
    examples=(
        "readmit ingest 3f2a91… --by A2 --extractor openai:gpt-5-mini",
        "readmit ingest --all --by A2 --extractor 'batch:answers?model=gpt-5-mini' --supports hotel.booking=d_h",
    ),
    ends_with=_ENDS,
)
@click.argument("evidence", nargs=-1, type=Reference("evidence"), metavar="DIGEST…")
@click.option("--all", "everything", is_flag=True, help="Every observation that the workspace holds.")
@click.option("--extractor", required=True, metavar="MODEL", help=f"Who reads: {MODEL}.")
@options.author()
@click.option("--supports", multiple=True, metavar="SLOT=DEPENDENCY", help="What a slot is evidence for. Repeatable.")
@click.option("--per-call", type=click.IntRange(1), default=1, show_default=True, help="Observations in one request.")
def ingest_evidence(
    invocation: Invocation, /, *, evidence: Sequence[str], everything: bool, extractor: str, by: str,
    supports: Sequence[str], per_call: int,
) -> None:  # fmt: skip
    """Draw items from observed evidence and record them with receipts and quotes, marked as drafted by the model.

    Statements without a verbatim quote in their evidence, and quotes of an assistant, a question or a greeting, are
    dropped and counted. A statement that its quote does not carry is recorded as the quote. Ingesting twice changes
    and costs nothing.
    """
    from readmit.inference import Inference

    if bool(evidence) == everything:
        raise click.UsageError("name evidence by digest, or give --all")
    bound: dict[str, list[str]] = {}
    for line in supports:
        slot, equals, dependency = line.partition("=")
        if not (slot and equals and dependency):
            raise click.UsageError(f"--supports: {line!r} must read SLOT=DEPENDENCY, as hotel.booking=d_h")
        bound.setdefault(slot, []).append(dependency)
    with invocation.open() as workspace, Inference(workspace, extractor=extractor) as inference:
        if everything:
            evidence = [event.digest for event in desk_of(workspace).log.tail() if event.kind is EventKind.OBSERVE]
        found = inference.ingest(list(evidence), by=by, supports=bound, per_call=per_call)
        texts = {item: desk_of(workspace).log.item(item).text for one in found for item in one.items}
        taken = inference.usage()
    if invocation.json:
        emit({"extracted": found, "usage": taken})
        return
    for one in found:
        dropped = ", ".join(f"{count} {why}" for why, count in one.dropped.items())
        outcome = one.failure or counted(len(one.items), "item")
        outcome += f", {one.quoted} as the quote alone" if one.quoted else ""
        outcome += f", dropped: {dropped}" if dropped else ""
        show(
            one_line(f"{one.evidence[:12]}…: {outcome}"), *(one_line(f"  {item}  {texts[item]}") for item in one.items)
        )


@command(
    "plan",
    examples=('readmit plan "Send the final itinerary" --by A1 --role planner --task trip --planner openai:gpt-5',),
    ends_with=_ENDS,
)
@click.argument("text")
@click.option("--planner", required=True, metavar="MODEL", help=f"Who plans: {MODEL}.")
@options.author("Who asks for it.")
@click.option("--role", required=True, metavar="NAME", help="Role that owes it.")
@click.option(
    "--task", required=True, envvar="READMIT_TASK", metavar="NAME", help="Task it belongs to. [env: READMIT_TASK]"
)
def plan_duties(invocation: Invocation, /, *, text: str, planner: str, by: str, role: str, task: str) -> None:
    """Open the obligations of a task or question, with the dependencies of each."""
    from readmit.inference import Inference

    with invocation.open() as workspace, Inference(workspace, planner=planner) as inference:
        planned = inference.plan(text, by=by, role=role, task=task)
        texts = {name: desk_of(workspace).log.item(name).text for name in planned.obligations}
    lines = [f"{name}  {said}" for name, said in texts.items()]
    lines += [f"required: {', '.join(planned.required)}", f"critical: {', '.join(planned.critical) or 'none'}"]
    lines += [f"search for: {query}" for query in planned.queries]
    invocation.say(planned, *map(one_line, lines))
