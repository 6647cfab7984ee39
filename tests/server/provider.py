"""An identity provider for tests: it signs tokens, and serves its public keys from a file or over HTTP."""

from __future__ import annotations

import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ISSUER, AUDIENCE = "https://login.example.org/", "https://readmit.example.org"


@cache
def rsa_key(number: int = 0, size: int = 2048) -> rsa.RSAPrivateKey:
    """A key that is made once in a run; another for each number."""
    del number
    return rsa.generate_private_key(public_exponent=65537, key_size=size)


@cache
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def jwk(key: Any, name: str, **more: Any) -> dict[str, Any]:
    """The public half of a key, as a JWKS lists it."""
    kinds = (
        (rsa.RSAPrivateKey, jwt.algorithms.RSAAlgorithm),
        (ec.EllipticCurvePrivateKey, jwt.algorithms.ECAlgorithm),
        (ed25519.Ed25519PrivateKey, jwt.algorithms.OKPAlgorithm),
    )
    algorithm = next(made for kind, made in kinds if isinstance(key, kind))
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": name, **more}


def claims(**changed: Any) -> dict[str, Any]:
    """The claims of a good token; None leaves one out."""
    now = int(time.time())
    made = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 300, "groups": ["staff", "planners"],
        **changed,
    }  # fmt: skip
    return {name: value for name, value in made.items() if value is not None}


def token(key: Any = None, algorithm: str = "RS256", kid: str | None = "k1", **changed: Any) -> str:
    """A token, signed by the provider's first key."""
    head = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(**changed), rsa_key() if key is None else key, algorithm, headers=head)


SETTINGS = """
[[issuers]]
issuer = "{issuer}"
audience = "{audience}"
keys = "{keys}"
algorithms = ["RS256", "ES256", "EdDSA"]
prefix = "acme/"

[[issuers.grants]]
where = {{ groups = "admins", mfa = true }}
workspaces = ["trip"]
rights = ["inspect", "admin"]

[[issuers.grants]]
where = {{ groups = "planners" }}
workspaces = ["trip"]
roles = ["planner"]
rights = ["agent"]
"""


def settings_file(folder: Path, keys: str = "jwks.json", **changed: str) -> Path:
    """The settings of a server that trusts this provider."""
    path = folder / "issuers.toml"
    path.write_text(SETTINGS.format(**{"issuer": ISSUER, "audience": AUDIENCE, "keys": keys, **changed}))
    path.chmod(0o600)
    return path


def write_keys(folder: Path, *keys: dict[str, Any]) -> None:
    """The provider's keys, in the file that the settings name."""
    path = folder / "jwks.json"
    path.write_text(json.dumps({"keys": keys or [jwk(rsa_key(), "k1")]}))
    path.chmod(0o600)


class KeyServer:
    """Serves a JWKS over HTTP, and counts how often it was asked for."""

    def __init__(self) -> None:
        self.keys = [jwk(rsa_key(), "k1")]
        self.asked = 0
        self.answer: bytes | None = None
        """Another answer than the keys."""
        self.location = ""
        """Where it sends those who ask, instead of answering."""
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.asked += 1
                body = json.dumps({"keys": served.keys}).encode() if served.answer is None else served.answer
                self.send_response(302 if served.location else 200)
                if served.location:
                    self.send_header("Location", served.location)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing: the counter says it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/jwks"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def key_server() -> Iterator[KeyServer]:
    """One for a test; a fixture."""
    served = KeyServer()
    yield served
    served.close()
