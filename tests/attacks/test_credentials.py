"""Callers of a server who are not who they say: stolen, expired, forged and misdirected credentials."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from readmit import Workspace
from readmit.lab import desk_of
from readmit.remote import verbs
from readmit.server import ApiKeys, LimitSettings, Serving, whole_app
from tests.server.provider import AUDIENCE, claims, ec_key, jwk, rsa_key, settings_file, token, write_keys
from tests.server.serving import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit.remote import Verb

OURS, THEIRS = "The vault is under the stairs", "The rivals sell at noon"
DAY = timedelta(days=1)
PLANNER = {"role": "planner", "task": "trip"}


@dataclass
class Victim:
    """A server with two teams in one store, its keys, and its request log."""

    url: str
    keys: ApiKeys
    folder: Path
    lines: list[str]
    client: httpx.Client

    def key(self, principal: str = "A1", **changed: Any) -> str:
        """A good key."""
        now = datetime.now(UTC)
        given = {"workspaces": ["trip"], "rights": ["agent"], "roles": ["planner"], "now": now, "expires": now + DAY}
        return self.keys.add(principal, **{**given, **changed})[1]

    def ask(self, method: str, path: str, credential: str, **sent: Any) -> httpx.Response:
        """One request with a credential."""
        headers = {"Authorization": f"Bearer {credential}", **sent.pop("headers", {})}
        return self.client.request(method, f"{self.url}{path}", headers=headers, **sent)

    @cached_property
    def inspector(self) -> str:
        """A key that reads everything of both teams."""
        return self.key("I1", rights=["inspect"], workspaces=["trip", "rivals"], roles=[])

    def epochs(self) -> list[int]:
        """How far both logs go."""
        said = self.ask("GET", "/v1/workspaces", self.inspector).json()
        return [one["epoch"] for one in said["entries"]]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def victim(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    folder = tmp_path_factory.mktemp("victim")
    place: Any = folder / "team.db"
    if request.param == "postgres":
        place = request.getfixturevalue("server").url("credentials")
    write_keys(folder, jwk(rsa_key(), "k1"), jwk(ec_key(), "e1"))
    for name, text in (("trip", OURS), ("rivals", THEIRS)):
        with Workspace.open(place, name=name) as workspace:
            seen = workspace.observe(text, by="A2")
            workspace.record(text, id="h0", slot="plan", sources=[seen], by="A2")
            workspace.oblige("Act on the plan", id="o0", required=["plan"], roles=["planner"], task="trip", by="A2")
            keys = desk_of(workspace).keys.folder
    assert keys is not None
    lines: list[str] = []
    # Many wrong credentials come from one address here; that they are bounded has tests of its own.
    limits = LimitSettings(failures_per_minute=1_000_000, anonymous_per_minute=1_000_000, per_minute=1_000_000)
    serving = Serving(
        store=str(place), key_folder=keys, url="http://127.0.0.1", issuers=settings_file(folder), limits=limits
    )
    with served(whole_app(serving, lines.append)) as url, httpx.Client(timeout=30) as client:
        yield Victim(url, ApiKeys(keys), folder, lines, client)


def pem() -> bytes:
    """The provider's public key, as everybody can have it."""
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return rsa_key().public_key().public_bytes(serialization.Encoding.PEM, kind)


def part(value: object) -> str:
    """A part of a token."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sealed(head: dict[str, Any], secret: bytes = b"", body: object = None) -> str:
    """A token whose head says what it likes, with a code of a secret as its signature."""
    signed = f"{part(head)}.{part(claims() if body is None else body)}"
    code = hmac.new(secret, signed.encode(), hashlib.sha256).digest() if secret else b""
    return f"{signed}.{part(code)}"


def own_key(head: dict[str, Any]) -> str:
    """A token that the attacker signs, whose head offers the attacker's key."""
    return jwt.encode(claims(), rsa_key(7), "RS256", headers={"kid": "k1", **head})


def changed(good: str, **claimed: Any) -> str:
    """A good token with other claims under the same signature."""
    head, _, signature = good.split(".")
    return f"{head}.{part(claims(**claimed))}.{signature}"


def soon(**delta: float) -> int:
    return int(time.time() + timedelta(**delta).total_seconds())


def elsewhere(victim: Victim) -> str:
    """A key that counts in a store of the attacker's own."""
    now, folder = datetime.now(UTC), victim.folder / "elsewhere"
    folder.mkdir(exist_ok=True)
    given: dict[str, Any] = {"workspaces": ["trip"], "rights": ["admin"], "now": now, "expires": now + DAY}
    return ApiKeys(folder).add("A1", **given)[1]


def stolen(victim: Victim) -> str:
    """A key that was used, and then revoked while the server runs."""
    key = victim.key()
    assert victim.ask("GET", "/v1/workspaces", key).status_code == 200
    victim.keys.revoke(key, now=datetime.now(UTC))
    return key


FORGED: dict[str, Callable[[Victim], str]] = {
    "none": lambda _: "",
    "a guess": lambda _: f"rk_{'0' * 12}_{'0' * 64}",
    "a key with a wrong letter": lambda it: it.key()[:-1] + "x",
    "the beginning of a key": lambda it: it.key()[:-1],
    "the end of a key twice": lambda it: f"{it.key()}0",
    "the secret of another's key": lambda it: f"{it.key('A1')[:16]}{it.key('A9')[16:]}",
    "the digest from the file": lambda it: f"rk_{it.keys.every()[-1].id}_{it.keys.every()[-1].sha256}",
    "a key in capitals": lambda it: it.key().upper(),
    "an id that leads elsewhere": lambda _: f"rk_../../etc/pa_{'0' * 64}",
    "a key of another store": elsewhere,
    "an expired key": lambda it: it.key(now=datetime.now(UTC) - 2 * DAY, expires=datetime.now(UTC) - DAY),
    "a stolen key that was revoked": stolen,
    "no algorithm": lambda _: sealed({"alg": "none", "kid": "k1"}),
    "no algorithm, capitals": lambda _: sealed({"alg": "nOnE", "kid": "k1"}),
    "no algorithm in the head": lambda _: sealed({"kid": "k1"}),
    "a list of algorithms": lambda _: sealed({"alg": ["RS256"], "kid": "k1"}),
    "a code with the public key as its secret": lambda _: sealed({"alg": "HS256", "kid": "k1"}, pem()),
    "a code with the modulus as its secret": lambda _: sealed(
        {"alg": "HS256", "kid": "k1"}, jwk(rsa_key(), "k1")["n"].encode()
    ),
    "a code under the name of a signature": lambda _: sealed({"alg": "RS256", "kid": "k1"}, pem()),
    "an algorithm that is not allowed": lambda _: token(algorithm="RS512"),
    "a key of another kind": lambda _: token(ec_key(), "ES256", "k1"),
    "a key of the attacker": lambda _: own_key({}),
    "a key in the head": lambda _: own_key({"jwk": jwk(rsa_key(7), "k1")}),
    "an address of keys in the head": lambda _: own_key({"jku": "http://127.0.0.1:9/jwks"}),
    "a certificate in the head": lambda _: own_key({"x5c": [part(b"mine")], "x5u": "http://127.0.0.1:9/x"}),
    "a key that is a path": lambda _: sealed({"alg": "RS256", "kid": "../../../dev/null"}, b"x"),
    "a key that is a query": lambda _: sealed({"alg": "RS256", "kid": "' OR 1=1 --"}, b"x"),
    "a key that is a number": lambda _: sealed({"alg": "RS256", "kid": 1}, b"x"),
    "an empty signature": lambda _: token().rpartition(".")[0] + ".",
    "zeros as a signature": lambda _: f"{token(ec_key(), 'ES256', 'e1').rpartition('.')[0]}.{part(bytes(64))}",
    "a critical extension": lambda _: jwt.encode(
        claims(), rsa_key(), "RS256", headers={"kid": "k1", "crit": ["x"], "x": 1}
    ),
    "no part is encoded": lambda _: sealed({"alg": "RS256", "kid": "k1", "b64": False, "crit": ["b64"]}, b"x"),
    "claims of somebody else": lambda _: changed(token(), sub="root", groups=["admins"], mfa=True),
    "an expired token": lambda _: token(exp=soon(minutes=-5)),
    "an expiry of yesterday as a text": lambda _: token(exp=str(soon(minutes=-5))),
    "no expiry": lambda _: token(exp=None),
    "an expiry in a thousand years": lambda _: token(exp=soon(days=365_000)),
    "an expiry beyond all numbers": lambda _: sealed({"alg": "RS256", "kid": "k1"}, b"x", {"iss": 1, "exp": 10**400}),
    "a token from tomorrow": lambda _: token(nbf=soon(days=1)),
    "a token made tomorrow": lambda _: token(iat=soon(hours=1)),
    "another audience": lambda _: token(aud="https://other.example.org"),
    "an audience that begins alike": lambda _: token(aud=f"{AUDIENCE}.evil.example.org"),
    "audiences without this one": lambda _: token(aud=["a", "b"]),
    "no audience": lambda _: token(aud=None),
    "another issuer": lambda _: token(iss="https://evil.example.org/"),
    "an issuer that begins alike": lambda _: token(iss="https://login.example.org/evil"),
    "no issuer": lambda _: token(iss=None),
    "issuers as a list": lambda _: sealed(
        {"alg": "RS256", "kid": "k1"}, b"x", claims(iss=["https://login.example.org/"])
    ),
    "nobody": lambda _: token(sub=None),
    "nobody, as a text": lambda _: token(sub=""),
    "a name with a line": lambda _: token(sub="ann\nroot"),
    "a name that turns round": lambda _: token(sub="ann\u202e"),
    "a name in another form": lambda _: token(sub="Zoe\u0301"),
    "a name of a thousand letters": lambda _: token(sub="a" * 1_000),
    "no group": lambda _: token(groups=None),
    "a group that begins alike": lambda _: token(groups=["planners-of-others"]),
    "groups as an object": lambda _: token(groups={"planners": True}),
    "a huge token": lambda _: token(more="x" * 20_000),
    "a deep token": lambda _: f"{part(b'[' * 3_000)}.{part(b'[' * 3_000)}.x",
    "no token": lambda _: "a.b.c",
    "dots": lambda _: "." * 60,
    "letters beyond ASCII": lambda _: "e.\u00e9.y",
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_stolen_or_expired_credential_opens_nothing(victim: Victim, case: str) -> None:
    credential = FORGED[case](victim)
    before = victim.epochs()
    for method, path in (
        ("GET", "/v1/workspaces"),
        ("POST", "/v1/workspaces/trip/depart"),
        ("GET", "/v1/workspaces/trip/items"),
        ("POST", "/mcp?task=trip"),
        ("GET", "/v1/workspaces/trip/subscribe?role=planner&task=trip"),
    ):
        sent: dict[str, Any] = {"json": PLANNER} if method == "POST" else {}
        header = {"Authorization": f"Bearer {credential}".strip().encode()}
        answer = victim.ask(method, path, "", headers=header, **sent)
        assert answer.status_code in (400, 401), (case, path, answer.text)
        assert answer.status_code == 400 or "www-authenticate" in answer.headers
        assert OURS not in answer.text
        assert credential not in answer.text or not credential
    assert victim.epochs() == before
    assert not any(credential in line for line in victim.lines if len(credential) > 10), "nor is it in the log"


def test_good_credentials_open(victim: Victim) -> None:
    """Without this, the attacks above would pass on a server that opens for nobody."""
    for credential in (victim.key(), token(), token(ec_key(), "ES256", "e1")):
        assert victim.ask("GET", "/v1/workspaces", credential).status_code == 200
        assert victim.ask("POST", "/v1/workspaces/trip/depart", credential, json=PLANNER).status_code == 200


# A good credential, and a word of somebody else.

SAID_OTHERWISE: dict[str, tuple[str, str, dict[str, Any], dict[str, str]]] = {
    "by, in a body": ("POST", "/depart", {**PLANNER, "by": "A9"}, {}),
    "a principal in a body": ("POST", "/depart", {**PLANNER, "principal": "A9"}, {}),
    "an identity in a body": ("POST", "/depart", {**PLANNER, "identity": {"principal": "A9"}}, {}),
    "a principal in the query": ("POST", "/depart?principal=A9&by=A9", PLANNER, {}),
    "a user in a header": ("POST", "/depart", PLANNER, {"X-Remote-User": "A9", "X-Forwarded-User": "A9"}),
    "a certificate in a header": ("POST", "/depart", PLANNER, {"X-SSL-Client-S-DN": "CN=A9", "SSL-Client-Cert": "A9"}),
    "a caller in a header": ("POST", "/depart", PLANNER, {"readmit.caller": "A9", "X-Readmit-Caller": "A9"}),
    "another method in a header": ("POST", "/depart", PLANNER, {"X-HTTP-Method-Override": "PUT"}),
    "a draft in another name": ("POST", "/draft", {**PLANNER, "text": "It rains.", "by": "A9", "sources": []}, {}),
}


@pytest.mark.parametrize("case", SAID_OTHERWISE)
def test_who_is_calling_is_said_by_the_credential_alone(victim: Victim, case: str) -> None:
    method, path, body, headers = SAID_OTHERWISE[case]
    answer = victim.ask(method, f"/v1/workspaces/trip{path}", victim.key(), json=body, headers=headers)
    assert answer.status_code in (200, 422), answer.text
    log = victim.ask("GET", "/v1/workspaces/trip/log?limit=500", victim.inspector)
    assert "A9" not in log.text
    if answer.status_code == 200:
        assert answer.json()["identity"]["principal"] == "A1"


BEYOND: dict[str, tuple[str, str, Any]] = {
    "another role": ("POST", "/depart", {"role": "owner", "task": "trip"}),
    "the log": ("GET", "/log", None),
    "items": ("GET", "/items", None),
    "the audit": ("GET", "/audit", None),
    "revoke": ("POST", "/revoke", {"target": "h0", "reason": "mine"}),
    "confirm": ("POST", "/confirm", {"item": "h0"}),
    "record": ("POST", "/record", {"text": "It rains."}),
    "govern": ("POST", "/admin/govern", {"policy": {}}),
    "forget": ("POST", "/admin/forget", {"targets": ["h0"], "reason": "mine"}),
    "what waits": ("GET", "/admin/waiting", None),
    "start a workspace": ("PUT", "", {}),
}


@pytest.mark.parametrize("case", BEYOND)
def test_the_key_of_an_agent_is_no_more_than_that(victim: Victim, case: str) -> None:
    method, path, body = BEYOND[case]
    before = victim.epochs()
    for credential in (victim.key(), token()):
        sent = {} if body is None else {"json": body}
        answer = victim.ask(method, f"/v1/workspaces/trip{path}", credential, **sent)
        assert answer.status_code == 403, answer.text
        assert OURS not in answer.text
    assert victim.epochs() == before


def test_a_view_is_handed_to_nobody_else(victim: Victim) -> None:
    """Its id and its secret, in the hands of another agent of the team and of another team."""
    mine = victim.key()
    victim.ask("POST", "/v1/workspaces/trip/depart", mine, json=PLANNER)
    came = victim.ask("POST", "/v1/workspaces/trip/come_back", mine, json=PLANNER).json()
    assert came["admitted"]
    proof = {**PLANNER, "secret": came["secret"]}
    for credential, workspace in (
        (victim.key("A9"), "trip"),
        (token(sub="A1"), "trip"),
        (victim.key("A1", workspaces=["rivals"]), "rivals"),
        (victim.key("A1", workspaces=["rivals"]), "trip"),
        (victim.key("A1", rights=["write", "inspect", "admin"], roles=[]), "trip"),
    ):
        for verb in ("expose", "acknowledge"):
            answer = victim.ask(
                "POST", f"/v1/workspaces/{workspace}/returns/{came['id']}/{verb}", credential, json=proof
            )
            assert answer.status_code >= 400, answer.text
            assert OURS not in answer.text
    own = victim.ask("POST", f"/v1/workspaces/trip/returns/{came['id']}/expose", mine, json=proof)
    assert OURS in own.text


# Another team's workspace, verb by verb.

OF_A_WORKSPACE = [verb for verb in verbs() if "{workspace}" in verb.path]


def _sent(victim: Victim, verb: Verb, workspace: str, credential: str) -> httpx.Response:
    path = verb.path.replace("{workspace}", workspace).replace("{id}", "h0").replace("{item}", "h0")
    query = "?role=planner&task=trip" if verb.name == "subscribe" else ""
    sent: dict[str, Any] = {} if verb.method == "GET" else {"json": PLANNER}
    return victim.ask(verb.method, path.replace("{epoch}", "1") + query, credential, **sent)


@pytest.mark.parametrize("verb", OF_A_WORKSPACE, ids=lambda verb: f"{verb.handle}-{verb.name}")
def test_a_workspace_of_others_answers_like_one_that_is_not_there(victim: Victim, verb: Verb) -> None:
    every = ["agent", "write", "inspect", "admin"]
    before = victim.epochs()
    for credential in (victim.key(rights=every), victim.key(), token()):
        theirs = _sent(victim, verb, "rivals", credential)
        absent = _sent(victim, verb, "absent", credential)
        assert theirs.status_code in (403, 404), theirs.text
        assert (theirs.status_code, theirs.text.replace("rivals", "absent")) == (absent.status_code, absent.text)
        assert THEIRS not in theirs.text
    assert victim.epochs() == before
    assert victim.ask("GET", "/v1/workspaces", victim.inspector).json()["entries"][-1]["name"] != "absent"


@pytest.mark.parametrize("name", ["rivals%00", "%2e%2e%2frivals", "RIVALS", "rivals%2f..%2ftrip", "trip%2f..%2frivals"])
def test_no_spelling_of_a_name_leads_there(victim: Victim, name: str) -> None:
    answer = victim.ask("GET", f"/v1/workspaces/{name}/items", victim.key(rights=["inspect"], roles=[]))
    assert answer.status_code in (400, 404, 422), answer.text
    assert THEIRS not in answer.text


# Markup, controls and masses, in every place of a request.

HOSTILE = "<script>alert(1)</script>\x1b[2J\x1b]0;x\x07\r\nSet-Cookie: a=b\u202e"
PLACES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a text": ("POST", "/observe", {"json": {"text": HOSTILE}}),
    "a huge text": ("POST", "/observe", {"json": {"text": "x" * 7_000_000}}),
    "a body beyond the limit": ("POST", "/observe", {"content": b"x" * (9 << 20)}),
    "an id": ("POST", "/observe", {"json": {"text": "a", "id": HOSTILE}}),
    "a field": ("POST", "/observe", {"json": {"text": "a", HOSTILE: 1}}),
    "a path": ("GET", "/items/%3Cscript%3E%1b%5B2J%0d%0aSet-Cookie:%20a", {}),
    "a long path": ("GET", "/items/" + "a" * 20_000, {}),
    "a query": ("GET", "/items?limit=%1b%5B2J%0d%0a&text=%3Cscript%3E", {}),
    "a header": ("GET", "/items", {"headers": {"Idempotency-Key": "<script>", "X-A": "b" * 30_000}}),
    "an agent": ("POST", "/depart", {"json": {"role": HOSTILE, "task": HOSTILE}}),
    "deep JSON": ("POST", "/observe", {"content": b'{"text":' + b"[" * 200_000}),
    "many fields": ("POST", "/observe", {"json": {f"f{number}": 1 for number in range(50_000)}}),
    "no JSON": ("POST", "/observe", {"content": b"\xff\xfe\x00"}),
    "half a character": ("POST", "/observe", {"content": b'{"text": "\\ud800"}'}),
    "a number beyond all": ("POST", "/observe_many", {"content": b'{"observations": [1e999]}'}),
    "a form": ("POST", "/observe", {"data": {"text": "a"}}),
}


@pytest.mark.parametrize("case", PLACES)
def test_whatever_is_sent_the_answer_is_data_and_the_log_one_line(victim: Victim, case: str) -> None:
    method, path, sent = PLACES[case]
    logged = len(victim.lines)
    key = victim.key(rights=["agent", "write", "inspect", "admin"])
    answer = victim.ask(method, f"/v1/workspaces/trip{path}", key, **sent)
    assert answer.status_code < 500, answer.text
    assert "set-cookie" not in answer.headers
    if answer.headers["content-type"] != "text/plain; charset=utf-8":
        assert answer.headers["content-type"] in ("application/json", "application/problem+json")
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "\x1b" not in answer.text
    assert len(answer.text) < 5_000, "an error does not repeat what was sent"
    assert victim.ask("GET", "/health", key).status_code == 200
    for line in victim.lines[logged:]:
        assert line.isprintable(), line
        assert len(line) < 1_000
        assert json.loads(line)["status"]


def test_what_was_written_with_controls_is_read_as_data(victim: Victim) -> None:
    key = victim.key("A4", rights=["write", "inspect"], roles=[])
    seen = victim.ask("POST", "/v1/workspaces/trip/observe", key, json={"text": HOSTILE}).json()
    fields = {"text": HOSTILE, "id": "hostile", "sources": [seen]}
    assert victim.ask("POST", "/v1/workspaces/trip/record", key, json=fields).status_code == 200
    answer = victim.ask("GET", "/v1/workspaces/trip/items/hostile", key)
    assert json.dumps(HOSTILE)[1:-1] in json.dumps(answer.json())
    assert "\x1b" not in answer.text
    assert answer.headers["content-type"] == "application/json"
