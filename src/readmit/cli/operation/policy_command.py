"""``readmit policy explain``: what a policy means, in sentences."""

from __future__ import annotations

from typing import BinaryIO

import click

from readmit.cli.command import CommandGroup, Invocation
from readmit.cli.error_lines import name_of
from readmit.cli.policy_words import explain_policy
from readmit.records.canonical import decode_file
from readmit.records.policy import Policy
from readmit.text.escapes import one_line


@click.group("policy", cls=CommandGroup)
def policy() -> None:
    """The rules that returns are decided by."""


@policy.command("explain", examples=("readmit policy explain", "readmit policy explain --file policy.json"))
@click.option("--file", type=click.File("rb"), metavar="FILE", help="A policy file, instead of the policy in force.")
def explain_rules(invocation: Invocation, /, *, file: BinaryIO | None) -> None:
    """Explain the policy in force, or a policy file, in sentences."""
    if file is not None:
        chosen = decode_file(file.read(), Policy, what=name_of(file))
    else:
        with invocation.open() as workspace:
            chosen = workspace.admin.policy
    parts = explain_policy(chosen)
    invocation.say(
        {"policy": {part.title.lower(): list(part.sentences) for part in parts}},
        *(line for part in parts for line in (part.title, *(f"  {one_line(one)}" for one in part.sentences))),
    )
