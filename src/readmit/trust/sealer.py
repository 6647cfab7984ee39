"""Port that signs and checks the head of a workspace's log against its keys and its pin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.records.acts.event import KeyChange
    from readmit.trust.merkle import TreeHead


class Handover(NamedTuple):
    """A commit that changed the keys: its number, its signed note, and the changes, checked to be part of it."""

    number: int
    note: bytes
    changes: tuple[KeyChange, ...]


class Extension(Protocol):
    """Proofs that the log extends an earlier head."""

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The proof that the first ``old`` of ``new`` commits are unchanged."""

    def handovers(self, since: int) -> Iterable[Handover]:
        """The commits after ``since`` that changed the keys, in order."""


class Sealer(Protocol):
    """Signs and checks heads with the workspace's keys and pin."""

    def look(self) -> None:
        """Read the pin. Do it before the database is read: another process may commit right after."""

    def sign(self, head: TreeHead, changes: tuple[KeyChange, ...], *, needed: bool) -> bytes | None:
        """The signed note of a head that is about to be committed; none if no key is at hand and it is not needed.

        The first commit of a log is signed by the key that it trusts; later ones by a key that was trusted before.
        """

    def check(self, head: TreeHead, note: bytes | None, log: Extension) -> None:
        """Raise ``TamperedError`` unless the head is signed and extends the pinned one."""

    def committed(self, head: TreeHead, changes: tuple[KeyChange, ...]) -> None:
        """Remember a head that is now durable, and how it changed the keys."""
