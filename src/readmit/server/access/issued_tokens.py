"""Tokens of identity providers (OIDC, JWT): which are accepted, and what their claims grant.

A settings file in TOML names each provider, its keys, and what the claims of its tokens stand for. Whatever the file
does not grant, no claim grants: a token never names its own rights.
"""

from __future__ import annotations

import time
import tomllib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import jwt
import msgspec

from readmit.records.base import Name, Record, nfc
from readmit.records.canonical import convert, digest_of
from readmit.records.error_types import CredentialError, ReadmitError, RecordError
from readmit.scenario.durations import Duration, duration
from readmit.server.access.api_keys import granted, plain_principal
from readmit.server.access.key_sets import ALGORITHMS, key_source
from readmit.server.access.watched_file import WatchedFile
from readmit.server.caller import Caller, Right

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from readmit.server.access.key_sets import KeySource

LONGEST_TOKEN = 8_192
_MOST_LEEWAY = 120
ClaimValue: TypeAlias = str | bool | int


class Grant(Record, kw_only=True):
    """The grant to a token whose claims have these values. A claim that is a list has every value in it."""

    where: Annotated[dict[str, ClaimValue], msgspec.Meta(min_length=1)]
    workspaces: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
    rights: tuple[Right, ...]
    roles: tuple[Name, ...] = ()


class Issuer(Record, kw_only=True):
    """One identity provider."""

    issuer: Name
    """The exact ``iss`` of its tokens."""
    audience: Name | Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
    """The ``aud`` that its tokens have if they are for this server, or several."""
    keys: str
    """Its JWKS: an https address, or a file."""
    algorithms: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    prefix: str
    """The beginning of the principals of its users, so that no two providers speak of the same one."""
    principal: str = "sub"
    """The claim that names the principal."""
    leeway: Annotated[int, msgspec.Meta(ge=0, le=_MOST_LEEWAY)] = 30
    """Seconds by which clocks may differ."""
    longest: Duration = "1d"
    """How long ahead a token may expire: it cannot be revoked before."""
    grants: Annotated[tuple[Grant, ...], msgspec.Meta(min_length=1)]


class IssuerTable(Record, kw_only=True):
    """The content of the settings file."""

    issuers: Annotated[tuple[Issuer, ...], msgspec.Meta(min_length=1)]


def read_issuers(content: bytes) -> IssuerTable:
    """The settings, or the error that names the wrong one."""
    try:
        given = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecordError(f"issuers: this is not TOML: {error}") from None
    table = convert(given, IssuerTable, what="issuers")
    for one in table.issuers:
        for name in one.algorithms:
            if name not in ALGORITHMS:
                raise RecordError(f"issuers.algorithms: {name!r} cannot be allowed; use {', '.join(ALGORITHMS)}")
        for grant in one.grants:
            granted(grant.rights, grant.roles)
    names, starts = [one.issuer for one in table.issuers], [one.prefix for one in table.issuers]
    if len(set(names)) != len(names):
        raise RecordError("issuers.issuer: a provider is named twice")
    for number, start in enumerate(starts):
        if any(other.startswith(start) for place, other in enumerate(starts) if place != number):
            raise RecordError(
                f"issuers.prefix: {start!r} begins the principals of two providers; give each its own, as 'acme/'"
            )
    return table


class IssuedTokens:
    """The tokens that a settings file accepts. The file is read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = WatchedFile(path, read_issuers)
        self._sources: dict[tuple[str, tuple[str, ...]], KeySource] = {}
        self._table: IssuerTable | None = None
        self._issuers()

    async def caller(self, token: str) -> Caller:
        """The caller that a token names. Nothing of it counts before its signature does."""
        if len(token) > LONGEST_TOKEN:
            raise CredentialError(f"authorization: this token has more than {LONGEST_TOKEN:,} characters")
        issuers = self._issuers()
        try:
            head = jwt.get_unverified_header(token)
            said = jwt.decode(token, options={"verify_signature": False}).get("iss")
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise CredentialError("authorization: this is neither an API key nor a token that can be read") from None
        found = issuers.get(said) if isinstance(said, str) else None
        if found is None:
            raise CredentialError("authorization: no provider of this server issued this token (iss)")
        algorithm, name = head.get("alg"), head.get("kid", "")
        if not isinstance(algorithm, str) or algorithm not in found.algorithms or not isinstance(name, str):
            raise CredentialError("authorization: the provider's tokens do not use this algorithm here (alg)")
        key = await self._source(found).key(name, algorithm)
        if key is None:
            raise CredentialError("authorization: the provider has no such key (kid), or it could not be fetched yet")
        return _granted_by(found, _claims(token, found, key, algorithm))

    def issuers(self) -> tuple[str, ...]:
        """The providers, for the metadata of the protected resource."""
        return tuple(self._issuers())

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    def _issuers(self) -> Mapping[str, Issuer]:
        table = self._file.value()
        if table is not self._table:
            wanted = {self._place(one) for one in table.issuers}
            for place in self._sources.keys() - wanted:
                self._sources.pop(place).close()
            self._table = table
            for one in table.issuers:
                self._source(one)
        return {one.issuer: one for one in table.issuers}

    def _source(self, issuer: Issuer) -> KeySource:
        place = self._place(issuer)
        if place not in self._sources:
            self._sources[place] = key_source(issuer.keys, self._path.parent, issuer.algorithms)
        return self._sources[place]

    @staticmethod
    def _place(issuer: Issuer) -> tuple[str, tuple[str, ...]]:
        return issuer.keys, issuer.algorithms


_REFUSED: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "it has expired (exp)"),
    (jwt.ImmatureSignatureError, "it is not valid yet (nbf, iat)"),
    (jwt.InvalidAudienceError, "it is for another audience (aud)"),
    (jwt.InvalidSignatureError, "its signature does not verify"),
    (jwt.MissingRequiredClaimError, "it lacks one of exp, iss, aud and the claim that names the principal"),
)


def _claims(token: str, issuer: Issuer, key: jwt.PyJWK, algorithm: str) -> dict[str, Any]:
    try:
        claims = jwt.decode(
            token, key=key, algorithms=[algorithm], audience=issuer.audience, issuer=issuer.issuer,
            leeway=issuer.leeway,
            options={"require": ["exp", "iss", "aud", issuer.principal], "enforce_minimum_key_length": True},
        )  # fmt: skip
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        why = next((words for kind, words in _REFUSED if isinstance(error, kind)), "it is malformed")
        raise CredentialError(f"authorization: this token does not count: {why}") from None
    if claims["exp"] > time.time() + duration(issuer.longest, field="longest").total_seconds() + issuer.leeway:
        raise CredentialError("authorization: this token does not count: it expires too far ahead (exp)")
    return claims


def _granted_by(issuer: Issuer, claims: Mapping[str, Any]) -> Caller:
    """The caller of verified claims. The first grant that fits is the one that counts: no two are added up."""
    grant = next((one for one in issuer.grants if all(_has(claims, *pair) for pair in one.where.items())), None)
    if grant is None:
        raise CredentialError("authorization: the provider's token is good, and nothing is granted to its claims here")
    subject = claims[issuer.principal]
    if not isinstance(subject, str) or not subject or nfc(subject) != subject:
        raise CredentialError(f"authorization: the claim {issuer.principal} of this token is no name of a principal")
    try:
        principal = plain_principal(f"{issuer.prefix}{subject}")
    except ReadmitError as error:
        raise CredentialError(f"authorization: this token names nobody who may call: {error}") from None
    return Caller(
        principal=principal, roles=grant.roles, workspaces=grant.workspaces, rights=frozenset(grant.rights),
        credential=f"jwt-{digest_of(f'{issuer.issuer} {subject}'.encode())[:12]}",
        expires=datetime.fromtimestamp(int(claims["exp"]), UTC) + timedelta(seconds=issuer.leeway),
    )  # fmt: skip


def _has(claims: Mapping[str, Any], name: str, wanted: ClaimValue) -> bool:
    """Whether a claim is a value, or a list that holds it. ``1`` is not ``true``."""
    found = claims.get(name)
    return any(type(one) is type(wanted) and one == wanted for one in (found if isinstance(found, list) else [found]))
