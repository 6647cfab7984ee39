"""Who is calling: the principal that a credential names, and its rights. Nothing of it comes from a request's body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from readmit.records.base import Name, Time
from readmit.remote.verb_table import RIGHTS, Right

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RIGHTS", "Caller", "Credentials", "Right"]


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The identity and the rights of one credential."""

    principal: Name
    roles: tuple[Name, ...] = ()
    """The roles in which it may act as an agent."""
    workspaces: tuple[Name, ...]
    """The workspaces that it may reach. No pattern: each is named."""
    rights: frozenset[Right]
    credential: str
    """The public id of the credential, for logs and rate limits. Never the secret."""
    expires: Time | None = None
    per_minute: int | None = None
    """Requests a minute; by default the server's limit."""


class Credentials(Protocol):
    """Checks what a request says about its caller."""

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """The caller, or ``CredentialError`` with nothing in it that the request did not say."""
        ...
