"""Where texts derived from texts are kept: premises, implied facts, embeddings. Each is made once.

A derived text belongs to one workspace, to whoever made it (a model and the version of its prompt, or an
embedder) and to the text it was made from. It is a cache that can be thrown away: nothing is decided by what is
missing from it, only paid for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Derived(Protocol):
    """The derived texts of one workspace."""

    def read(self, kind: str, maker: str, sources: Iterable[str]) -> dict[str, bytes]:
        """Those that are there, by the digest of the text they were made from."""
        ...

    def write(self, kind: str, maker: str, rows: Mapping[str, bytes]) -> None:
        """Keep some, durably and all together. What was there before under the same digest is replaced."""
        ...

    def forget(self, kind: str | None = None, maker: str | None = None) -> int:
        """Throw away what matches, and say how many that were."""
        ...
