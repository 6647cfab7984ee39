"""Looks again at sources of evidence: the limits of a look, what it answers, and who looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec

from readmit.records.base import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.probes import Finding, Probe


class LookLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a look may do. The defaults read nothing: every root, host and command is allowed by name."""

    seconds: float = 5.0
    """Most seconds for one probe."""
    total_seconds: float = 30.0
    """Most seconds for one call of ``look``; probes that are not reached are unseen."""
    bytes: int = 1_000_000
    """Most bytes read from one source."""
    count: int = 10_000
    """Most probes in one call of ``look``; those beyond are unseen."""
    roots: tuple[str, ...] = ()
    """Directories below which files and repositories are read. Relative paths of probes start at the first."""
    hosts: tuple[str, ...] = ()
    """Hosts that may be asked: ``example.org``, ``example.org:8443`` or ``*.example.org``. Empty: no network."""
    private_hosts: tuple[str, ...] = ()
    """Hosts of ``hosts`` that may be at a private, loopback or link-local address."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Commands that may run, with exactly these arguments; a last ``*`` allows any further ones."""
    sandbox: Literal["required", "limits"] = "required"
    """Whether a command needs namespaces (no network, no writes), or runs with resource limits alone."""

    def __post_init__(self) -> None:
        # A text in place of a list is a list of letters, and / is one of them.
        for field in ("roots", "hosts", "private_hosts", "commands"):
            listed(field, getattr(self, field))
        for command in self.commands:
            listed("commands", command)


class ProbeResult(NamedTuple):
    """What one look found."""

    outcome: Finding
    probe: Probe
    """The probe that fits what is there now; for an unchanged, gone or unseen source the one that was given."""
    text: str = ""
    """For a changed source, what is there now: exactly the text whose digest is in ``probe``. Otherwise empty."""
    why: str = ""
    """Why the source is gone or unseen, in a few words."""


class Captured(NamedTuple):
    """A text as it was read just now, and how to look at it again."""

    text: str
    probe: Probe


class Prober(Protocol):
    """Looks at sources again."""

    def look(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        """One result per probe, in the same order. Whatever goes wrong with a probe makes it unseen."""
        ...
