"""``Authorization: Bearer``: an API key, or a token of an identity provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.error_types import CredentialError
from readmit.state.authority import host_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from readmit.server.access.api_keys import ApiKeys
    from readmit.server.access.issued_tokens import IssuedTokens
    from readmit.server.caller import Caller

MISSING = (
    "authorization: this needs a credential; send `Authorization: Bearer KEY`, where `readmit credentials add` makes "
    "a key"
)


class BearerCredentials:
    """Checks credentials by the key file and the settings of providers as they are now. Nothing is kept of a caller."""

    def __init__(
        self, keys: ApiKeys, tokens: IssuedTokens | None = None, *, clock: Callable[[], datetime] = host_time
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._clock = clock

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """The caller, or an error with nothing in it that the request did not say."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise CredentialError(MISSING)
        if token.startswith("rk_") or self._tokens is None:
            return self._keys.caller(token, self._clock())
        return await self._tokens.caller(token)
