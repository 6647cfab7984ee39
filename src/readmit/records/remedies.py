"""Remedies of an operator for a finding: each as a Python call and as a command that can be pasted."""

from __future__ import annotations

import json
import shlex
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from readmit.records.policy import OWNER, Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.records.identity import Identity

BLANK = "…"
"""The placeholder for what only the team knows."""

# How the fields of a call are written on the command line, where that differs.
_OPTIONS = {
    "sources": "source",
    "required": "requires",
    "depends_on": "depends-on",
    "roles": "role",
    "principals": "principal",
    "purposes": "purpose",
    "applies_to": "applies-to",
}


# Verbs below ``workspace.admin`` and ``readmit admin``.
_ADMIN = frozenset({"approve", "decline", "overrule", "reassign"})


class Remedy(msgspec.Struct, frozen=True):
    """A remedy as a call and as a command. ``…`` stands for what only the team knows."""

    call: str
    command: str


def write(verb: Literal["record", "oblige", "progress"], text: str = BLANK, **fields: Any) -> Remedy:
    """An item to be written. Fields without a value are left out."""
    return _both(verb, (text,), {name: value for name, value in fields.items() if value is not None})


def act(
    verb: Literal["resolve", "settle", "revoke", "supersede", "approve", "decline"], *targets: str, **fields: Any
) -> Remedy:
    """A lifecycle event."""
    return _both(verb, targets, fields)


def link(item: str, need: str, by: str) -> Remedy:
    """Say that an item is evidence for a dependency."""
    return _both("link", (item, need), {"by": by})


def confirm(item: str, by: str) -> Remedy:
    """Confirm what a model drafted."""
    return _both("confirm", (item,), {"by": by})


def overrule(item: str, by: str) -> Remedy:
    """Set a rejection aside for an hour."""
    one = _both("overrule", (item,), {"by": by, "reason": BLANK}, "--for 1h")
    return Remedy(f"{one.call.removesuffix(')')}, expires=timedelta(hours=1))", one.command)


def govern(policy: Policy, **changes: Mapping[str, Any]) -> Remedy:
    """A change of policy. The command line takes a whole policy, so the command repeats the settings that stay."""
    said = ", ".join(f"{group}={_settings(settings)}" for group, settings in changes.items())
    call = f"workspace.as_owner().admin.govern(workspace.admin.policy.changed({said}))"
    whole = json.dumps(set_apart(policy.changed(**changes)), ensure_ascii=False)
    return Remedy(call, f"echo {shlex.quote(whole)} | readmit admin govern -")


def set_apart(policy: Policy) -> dict[str, dict[str, object]]:
    """The settings of a policy that differ from the defaults, by group, as a policy file has them."""
    usual, here = msgspec.to_builtins(Policy()), msgspec.to_builtins(policy)
    differing = (
        (group, {name: value for name, value in settings.items() if value != usual[group][name]})
        for group, settings in here.items()
    )
    return {group: settings for group, settings in differing if settings}


def _settings(settings: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{_quoted(name)}: {_value(value)}" for name, value in settings.items()) + "}"


def reassign(who: Identity, role: str, by: str) -> Remedy:
    """The agent gets another role."""
    return _both("reassign", (who.principal,), {"task": who.task, "was": who.role, "role": role, "by": by})


def void(event: int, by: str) -> Remedy:
    """Void the date of an event."""
    owner = by == OWNER
    call = f"workspace.as_owner().admin.void({event})" if owner else f"workspace.admin.void({event}, by={_quoted(by)})"
    return Remedy(call, f"readmit admin void {event} {'--as-owner' if owner else _options({'by': by})}")


def depart(who: Identity) -> Remedy:
    """The agent leaves."""
    return Remedy(f"{_agent(who)}.depart()", f"readmit depart {_who(who)}")


def sweep() -> Remedy:
    """Depart for every agent whose lease ran out."""
    return Remedy("workspace.admin.sweep(trust_clock=True)", "readmit admin sweep --trust-clock")


def come_back(who: Identity, *, purpose: str | None = None) -> Remedy:
    """The agent returns."""
    asked = "" if purpose is None else f"purpose={_quoted(purpose)}"
    option = "" if purpose is None else f" --purpose {shlex.quote(purpose)}"
    return Remedy(f"{_agent(who)}.come_back({asked})", f"readmit return {_who(who)}{option}")


def prepare(who: Identity, *, purpose: str | None = None) -> Remedy:
    """The agent returns after a model has looked for implicit changes."""
    asked = "" if purpose is None else f", purpose={_quoted(purpose)}"
    plain = come_back(who, purpose=purpose)
    call = f"Inference(workspace, verifier={_quoted(BLANK)}).come_back({_agent(who)}{asked})"
    return Remedy(call, f"{plain.command} --prepare --verifier {_shell(BLANK)}")


def _agent(who: Identity) -> str:
    return f"workspace.agent({_quoted(who.principal)}, role={_quoted(who.role)}, task={_quoted(who.task)})"


def _who(who: Identity) -> str:
    return _options({"principal": who.principal, "role": who.role, "task": who.task})


def command(verb: str, given: Sequence[str], options: str = "") -> str:
    """A command line that can be pasted. After ``--``, an id that begins with a dash is no option."""
    names = " ".join(map(_shell, given))
    words = (options, "--", names) if any(one.startswith("-") for one in given) else (names, options)
    below = ("admin",) if verb in _ADMIN else ()
    return " ".join(("readmit", *below, verb, *filter(None, words)))


def _both(verb: str, given: tuple[str, ...], fields: Mapping[str, Any], *options: str) -> Remedy:
    owner = fields.get("by") == OWNER
    fields = {name: value for name, value in fields.items() if name != "by" or not owner}
    said = [*map(_quoted, given), *(f"{name}={_value(value)}" for name, value in fields.items())]
    every = ("--as-owner" if owner else "", _options(fields), *options)
    handle = "workspace.as_owner()" if owner else "workspace"
    handle += ".admin" if verb in _ADMIN else ""
    return Remedy(f"{handle}.{verb}({', '.join(said)})", command(verb, given, " ".join(filter(None, every))))


def _value(value: str | float | Decimal | Sequence[str]) -> str:
    """A Python literal. In a list, the blank stands for a value rather than for a text."""
    match value:
        case Decimal():
            return f'Decimal("{value}")'
        case str():
            return _quoted(str(value))
        case int() | float():
            return str(value)
        case _:
            inside = ", ".join(one if one == BLANK else _quoted(str(one)) for one in value)
            return f"({inside},)" if isinstance(value, tuple) else f"[{inside}]"


def _quoted(text: str) -> str:
    return json.dumps(str(text) if isinstance(text, StrEnum) else text, ensure_ascii=False)


def _options(fields: Mapping[str, Any]) -> str:
    return " ".join(word for item in fields.items() for word in _option(*item))


def _option(name: str, value: str | list[str]) -> Iterator[str]:
    for one in [value] if isinstance(value, str) else value:
        yield f"--{_OPTIONS.get(name, name)} {_shell(one)}"


def _shell(text: str) -> str:
    return f'"{BLANK}"' if text == BLANK else shlex.quote(text)
