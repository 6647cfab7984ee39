from __future__ import annotations

import json
import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from readmit.errors import GoneError, ProbeError
from readmit.sources import File, Finding, Http, HttpProbe, Looker
from readmit.sources.web import public
from tests.sources.conftest import PATIENT, limits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Site:
    """A real server on this machine, which answers what a test says and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer: Callable[[BaseHTTPRequestHandler], None] = page(b"hello")
        self.asked: list[dict[str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append({"path": self.path, **self.headers})
                site.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}/page?q=1"

    def looker(self, **limits: object) -> Looker:
        given = {"hosts": (self.host,), "private_hosts": (self.host,), **PATIENT, **limits}
        return Looker(limits_of(**given))


def page(body: bytes, *, status: int = 200, kind: str = "text/plain", **headers: str) -> Callable[..., None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"Content_Type": kind, "Content_Length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


@contextmanager
def served() -> Iterator[Site]:
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        thread.join()
        site.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with served() as one:
        yield one


def test_a_page_is_captured_and_asked_again_with_its_validators(site: Site) -> None:
    site.answer = page(b"hello", ETag='"1"', Last_Modified="Mon, 02 Nov 2026 10:00:00 GMT")
    text, probe = site.looker().capture(Http(site.url))
    assert text == "hello"
    assert isinstance(probe, HttpProbe)
    assert (probe.etag, probe.modified) == ('"1"', "Mon, 02 Nov 2026 10:00:00 GMT")
    site.answer = page(b"", status=304)
    assert site.looker().look([probe]) == [(Finding.UNCHANGED, probe, "", "")]
    assert site.asked[-1]["If-None-Match"] == '"1"'
    assert site.asked[-1]["If-Modified-Since"] == "Mon, 02 Nov 2026 10:00:00 GMT"
    assert site.asked[-1]["path"] == "/page?q=1"


def test_a_page_with_other_words_is_changed_and_with_the_same_words_unchanged(site: Site) -> None:
    _, probe = site.looker().capture(Http(site.url))
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.UNCHANGED]
    site.answer = page(b"goodbye", ETag='"2"')
    [found] = site.looker().look([probe])
    assert (found.outcome, found.text) == (Finding.CHANGED, "goodbye")
    assert isinstance(found.probe, HttpProbe)
    assert found.probe.etag == '"2"'
    assert [again.outcome for again in site.looker().look([found.probe])] == [Finding.UNCHANGED]


def test_not_modified_is_no_answer_to_a_question_without_a_condition(site: Site) -> None:
    _, probe = site.looker().capture(Http(site.url))
    site.answer = page(b"", status=304)
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.UNSEEN]


HTML = b"<html><script>var price = 9</script><p>The price is\n <b>5&nbsp;EUR</b> today.</p>"


WORDS = {
    "words <b>of</b> a <i class='x>y'>page</i>": "words of a page",
    'a <a title="1 > 0" href=x>link</a> b': "a link b",
    "a <!-- a > b <p> --> b <!--> c <!-- --!> d": "a b c d",
    "<!DOCTYPE html><?xml x?><p>text</p></ >": "text",
    "<STYLE>p > a { }</Style>text<script>if (a<b) '</scriptx>'</SCRIPT >more": "text more",
    "a <template>b <template>c</template> d</template> e": "a e",
    "a <script src='x'/> b": "a b",
    "1 < 2 &amp; 3 &lt; 4 &eacute; &#233; &unknown;": "1 < 2 & 3 < 4 é é &unknown;",
    "a <script>never closed": "a",
    "a <!-- never closed": "a",
    "a <b never closed": "a",
    "a </template> b": "a b",
}


@pytest.mark.parametrize("markup", WORDS)
def test_the_words_of_a_page_are_read_as_a_browser_shows_them(markup: str, site: Site) -> None:
    site.answer = page(markup.encode(), kind="text/html; charset=utf-8")
    assert site.looker().capture(Http(site.url)).text == WORDS[markup]


def test_a_quote_of_a_page_survives_a_new_layout_and_not_new_words(site: Site) -> None:
    site.answer = page(HTML, kind="text/html; charset=utf-8")
    text, probe = site.looker().capture(Http(site.url, quote="price is 5 EUR"))
    assert text == "price is 5 EUR"
    site.answer = page(HTML.replace(b"<p>", b"<div class=x> News! ").replace(b"\n", b" "), kind="text/html")
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.UNCHANGED]
    site.answer = page(HTML.replace(b"5&nbsp;", b"6&nbsp;"), kind="text/html")
    [found] = site.looker().look([probe])
    assert (found.outcome, found.text) == (Finding.CHANGED, "The price is 6 EUR today.")
    assert [again.outcome for again in site.looker().look([found.probe])] == [Finding.UNCHANGED]
    with pytest.raises(GoneError, match="quote: the page does not hold these words"):
        site.looker().capture(Http(site.url, quote="price is 9"))


def test_a_quote_is_found_in_a_page_that_is_too_long_for_evidence(site: Site) -> None:
    site.answer = page(b"word " * 100_000 + b"the end")
    text, probe = site.looker().capture(Http(site.url, quote="word the end"))
    assert (text, [found.outcome for found in site.looker().look([probe])]) == ("word the end", [Finding.UNCHANGED])
    site.answer = page(b"word " * 100_000)
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.GONE]


@pytest.mark.parametrize(
    "etag", ['"a\r\n b"', '"\xe9"', '"' + "x" * 2_000 + '"', ""], ids=["folded", "not ASCII", "long", "none"]
)
def test_a_validator_that_cannot_be_sent_back_is_not_kept(etag: str, site: Site) -> None:
    site.answer = page(b"hello", ETag=etag)
    _, probe = site.looker().capture(Http(site.url))
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.UNCHANGED]
    assert isinstance(probe, HttpProbe)
    assert probe.etag == ""


def test_one_value_of_a_json_document_is_followed_by_its_pointer(site: Site) -> None:
    def answer(version: str, noise: int) -> None:
        site.answer = page(json.dumps({"a/b": [{"version": version}], "noise": noise}).encode())

    answer("1.2", 1)
    text, probe = site.looker().capture(Http(site.url, pointer="/a~1b/0/version"))
    assert text == "1.2"
    answer("1.2", 2)
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.UNCHANGED]
    answer("1.3", 2)
    assert [found.text for found in site.looker().look([probe])] == ["1.3"]
    site.answer = page(b"{}")
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.GONE]
    site.answer = page(b"oops")
    assert [found.outcome for found in site.looker().look([probe])] == [Finding.UNSEEN]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(404, "gone"), (410, "gone"), (403, "unseen"), (429, "unseen"), (500, "unseen"), (204, "unseen")],
)
def test_an_answer_without_a_page(status: int, outcome: str, site: Site) -> None:
    _, probe = site.looker().capture(Http(site.url))
    site.answer = page(b"no", status=status)
    assert [(found.outcome, found.why) for found in site.looker().look([probe])] == [
        (outcome, f"the server answers {status}")
    ]


def test_a_redirect_to_an_allowed_host_is_followed(site: Site) -> None:
    with served() as other:
        other.answer = page(b"there")
        site.answer = page(b"", status=302, Location=other.url)
        looker = site.looker(hosts=(site.host, other.host), private_hosts=(site.host, other.host))
        assert looker.capture(Http(site.url)).text == "there"


def test_redirects_in_a_circle_end(site: Site) -> None:
    site.answer = page(b"", status=302, Location="/again")
    with pytest.raises(ProbeError, match="redirects more than 3 times"):
        site.looker().capture(Http(site.url))


def test_by_default_no_host_may_be_asked(site: Site) -> None:
    with pytest.raises(ProbeError, match=r"^hosts: 127\.0\.0\.1:\d+ is not allowed"):
        Looker().capture(Http(site.url))
    assert site.asked == []


def test_proxies_of_the_environment_are_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy.host}")
        monkeypatch.delenv("no_proxy", raising=False)
        assert site.looker().capture(Http(site.url)).text == "hello"
        assert proxy.asked == []


def test_a_text_in_another_charset_is_kept_as_unicode(site: Site) -> None:
    site.answer = page("Köln".encode("latin-1"), kind="text/plain; charset=iso-8859-1")
    assert site.looker().capture(Http(site.url)).text == "Köln"


ADDRESSES = {
    "93.184.216.34": True,
    "2606:2800:220:1:248:1893:25c8:1946": True,
    "::ffff:93.184.216.34": True,
    "127.0.0.1": False,
    "10.1.2.3": False,
    "172.16.0.1": False,
    "192.168.1.1": False,
    "169.254.169.254": False,
    "100.64.0.1": False,
    "0.0.0.0": False,  # noqa: S104 - an address to refuse
    "224.0.0.1": False,
    "255.255.255.255": False,
    "::1": False,
    "::": False,
    "fe80::1": False,
    "fd00::1": False,
    "ff02::1": False,
    "::ffff:127.0.0.1": False,
    "::ffff:10.0.0.1": False,
    "::127.0.0.1": False,
    "64:ff9b::7f00:1": False,
    "2002:7f00:1::": False,
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_public_or_not_however_it_is_wrapped(address: str) -> None:
    assert public(address) is ADDRESSES[address]


def test_many_pages_are_asked_for_at_the_same_time_and_answered_in_order(site: Site) -> None:
    together = threading.Barrier(8)

    def all_or_none(request: BaseHTTPRequestHandler) -> None:
        together.wait(60)
        page(request.path.encode())(request)

    site.answer = all_or_none
    probes = [HttpProbe(digest="0" * 64, url=f"http://{site.host}/{number}") for number in range(16)]
    assert [found.text for found in site.looker().look(probes)] == [f"/{number}" for number in range(16)]


def test_a_server_that_does_not_answer_is_given_up_and_takes_no_time_from_files(site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    over = threading.Event()

    def nothing(_: BaseHTTPRequestHandler) -> None:
        over.wait()

    site.answer = nothing
    looker = site.looker(roots=(str(tmp_path),), seconds=2.0)
    _, file = looker.capture(File("a.txt"))
    silent = HttpProbe(digest="0" * 64, url=site.url)
    found = looker.look([*[silent] * 30, file])
    over.set()
    assert found[-1].outcome is Finding.UNCHANGED
    assert {one.outcome for one in found[:-1]} == {Finding.UNSEEN}
    assert {one.why for one in found[8:-1]} == {f"{site.host} took too long before in this look"}
    assert len(site.asked) <= 8


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "certificate.pem").write_bytes(made.public_bytes(encoding) + secret)
    return tmp_path / "certificate.pem"


@pytest.fixture
def secure(site: Site, certificate: Path) -> Site:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    site.server.socket = context.wrap_socket(site.server.socket, server_side=True)
    site.url = site.url.replace("http:", "https:")
    return site


def test_a_server_is_believed_only_with_a_certificate_that_the_system_trusts(
    secure: Site, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProbeError, match="certificate verify failed"):
        secure.looker().capture(Http(secure.url))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert secure.looker().capture(Http(secure.url)).text == "hello"
    elsewhere = secure.url.replace("127.0.0.1", "127.0.0.2")
    other = tuple(host.replace("127.0.0.1", "127.0.0.2") for host in (secure.host,))
    with pytest.raises(ProbeError, match=r"certificate|reached"):
        secure.looker(hosts=other, private_hosts=other).capture(Http(elsewhere))


def test_a_redirect_from_https_to_http_is_not_followed(
    secure: Site, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with served() as plain:
        secure.answer = page(b"", status=302, Location=plain.url)
        both = (secure.host, plain.host)
        with pytest.raises(ProbeError, match="redirects from https to http"):
            secure.looker(hosts=both, private_hosts=both).capture(Http(secure.url))
        assert plain.asked == []
