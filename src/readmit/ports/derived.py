"""Storage for texts derived from texts: premises, implied facts, embeddings. Each is made once.

A derived text belongs to one workspace, to its maker (a model and the version of its prompt, or an embedder) and to its
source text. It is a cache: deleting it changes no decision, only the cost of making it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Derived(Protocol):
    """The derived texts of one workspace."""

    def read(self, kind: str, maker: str, sources: Iterable[str]) -> dict[str, bytes]:
        """The stored ones, by the digest of their source text."""
        ...

    def write(self, kind: str, maker: str, rows: Mapping[str, bytes]) -> None:
        """Store several durably in one transaction, replacing those with the same digest."""
        ...

    def forget(self, kind: str | None = None, maker: str | None = None) -> int:
        """Delete what matches and return how many that were."""
        ...
