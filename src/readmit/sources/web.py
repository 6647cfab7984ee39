"""Looks at HTTP resources: allowed hosts only, addresses checked and pinned, every byte and second counted."""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from html import unescape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec

from readmit.records.canonical import digest_of
from readmit.records.error_types import GoneError, ProbeError, RecordError
from readmit.records.probes import Finding, HttpProbe, require_url
from readmit.records.verdicts import quoted
from readmit.sources.look import LookDeadline, compared, evidence_text, unread, within
from readmit.sources.prober import Captured, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.records.policy import LookRules
    from readmit.sources.places import Http

_REDIRECTS = 3
_MOVED = {301, 302, 303, 307, 308}
_GONE = {404, 410}
_PORTS = {"http": 80, "https": 443}
_CHARSETS = {"utf-8", "us-ascii", "iso-8859-1", "windows-1252"}
_MARKUP = re.compile(r"<(?:!--|[!?]|(?P<slash>/?)(?P<name>[a-zA-Z][^\s/>]*+)|/)")
_END, _COMMENT_END = re.compile(">"), re.compile("--!?>")
_END_OR_QUOTE = re.compile(r""">|=\s*+(["'])""")
_RAW = {name: re.compile(rf"</{name}(?=[\s/>])[^>]*+>?", re.IGNORECASE) for name in ("script", "style")}
_VALIDATOR = re.compile(r"[ -~]{1,256}")
# IPv6 networks whose last four bytes are an IPv4 address.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


class Page(NamedTuple):
    """An answer: not modified, or a body."""

    body: bytes | None
    etag: str = ""
    modified: str = ""


class Web:
    """The network of one look."""

    def __init__(self, limits: LookRules) -> None:
        self._limits = limits

    def look(self, probe: HttpProbe, deadline: LookDeadline) -> ProbeResult:
        page = self._get(probe.url, deadline, etag=probe.etag, modified=probe.modified)
        if page.body is None:
            if not (probe.etag or probe.modified):
                raise ProbeError("the server answers 304 to a question without a condition")
            return ProbeResult(Finding.UNCHANGED, probe)
        if probe.quote:
            if quoted(probe.quote, page.body.decode()):
                return ProbeResult(Finding.UNCHANGED, probe)
            whole = msgspec.structs.replace(probe, quote="")
            return ProbeResult(Finding.CHANGED, _now(whole, page.body, page), evidence_text(page.body))
        data = _part(page.body, probe.pointer)
        result = compared(probe, data)
        return result if result.outcome is Finding.UNCHANGED else result._replace(probe=_now(probe, data, page))

    def capture(self, place: Http, deadline: LookDeadline) -> Captured:
        probe = unread(HttpProbe, place)
        page = self._get(probe.url, deadline)
        body = page.body or b""
        if probe.quote and not quoted(probe.quote, body.decode()):
            raise GoneError("quote: the page does not hold these words")
        data = probe.quote.encode() if probe.quote else _part(body, probe.pointer)
        return Captured(evidence_text(data), _now(probe, data, page))

    def _get(self, url: str, deadline: LookDeadline, *, etag: str = "", modified: str = "") -> Page:
        """Get the page of a URL. In a thread, because the system's name resolution knows no deadline."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "readmit", "Connection": "close"}
        if etag:
            headers["If-None-Match"] = etag
        if modified:
            headers["If-Modified-Since"] = modified
        return within(deadline, lambda: self._follow(url, headers, deadline), name="http")

    def _follow(self, url: str, headers: dict[str, str], deadline: LookDeadline) -> Page:
        for _ in range(_REDIRECTS + 1):
            parts = urlsplit(url)
            with self._connected(parts, deadline) as plain, _ended(plain, deadline):
                connection = _speaking(parts, plain)
                try:
                    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                    connection.request("GET", target, headers=headers)
                    with connection.getresponse() as answer:
                        if answer.status not in _MOVED or not (place := answer.headers.get("Location")):
                            return self._page(answer, deadline)
                        url = urljoin(url, place)
                        _check_redirect(parts, url)
                finally:
                    connection.close()
        raise ProbeError(f"the server redirects more than {_REDIRECTS} times")

    def _page(self, answer: http.client.HTTPResponse, deadline: LookDeadline) -> Page:
        if answer.status == http.client.NOT_MODIFIED:
            return Page(None)
        if answer.status in _GONE:
            raise GoneError(f"the server answers {answer.status}")
        if answer.status != http.client.OK:
            raise ProbeError(f"the server answers {answer.status}")
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise ProbeError("the server compresses its answer although it was asked not to")
        if answer.length is None and not answer.chunked:
            # It would end where the connection does: one that breaks looks like one that is complete.
            raise ProbeError("the server does not say how long its answer is")
        pieces: list[bytes] = []
        size = 0
        while piece := answer.read1(65_536):
            deadline.left()
            size += len(piece)
            if size > self._limits.bytes:
                raise ProbeError(f"it has more than {self._limits.bytes} bytes, which is the limit")
            pieces.append(piece)
        if answer.length:
            raise ProbeError("the answer ended too early")
        # A connection that was cut at the deadline may look complete, too.
        deadline.left()
        kind = answer.headers.get_content_type()
        body = _text(b"".join(pieces), answer.headers.get_content_charset("utf-8"))
        if kind in ("text/html", "application/xhtml+xml"):
            body = _words(body, deadline)
        return Page(body.encode(), *(_validator(answer.headers.get(name, "")) for name in ("ETag", "Last-Modified")))

    def _connected(self, parts: SplitResult, deadline: LookDeadline) -> socket.socket:
        """A connection to an address that was checked: the name is not resolved a second time."""
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        if not _listed(host, port, self._limits.hosts):
            raise ProbeError(f"hosts: {host}:{port} is not allowed; add it to looks.hosts of the policy")
        try:
            found = {str(one[4][0]): None for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError):
            raise ProbeError(f"the name {host} cannot be resolved") from None
        if not _listed(host, port, self._limits.private_hosts) and not all(map(public, found)):
            raise ProbeError(
                f"private_hosts: {host} is at a private address; looks.private_hosts of the policy would allow it"
            )
        return _first_answer(found, port, deadline)


def _now(probe: HttpProbe, data: bytes, page: Page) -> HttpProbe:
    """The probe of the present text of a page."""
    return msgspec.structs.replace(probe, digest=digest_of(data), etag=page.etag, modified=page.modified)


def _validator(header: str) -> str:
    """A header that can be sent back as it came."""
    return header if _VALIDATOR.fullmatch(header) else ""


def _speaking(parts: SplitResult, plain: socket.socket) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        safe = http.client.HTTPSConnection(host, parts.port)
        safe.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host, suppress_ragged_eofs=False)
        return safe
    connection = http.client.HTTPConnection(host, parts.port)
    connection.sock = plain
    return connection


@contextmanager
def _ended(plain: socket.socket, deadline: LookDeadline) -> Iterator[None]:
    """Ends a connection at its deadline. A socket's own timeout starts again with every byte."""
    with plain.dup() as handle:
        cut = threading.Timer(deadline.left(), _shut, [handle])
        cut.daemon = True
        cut.start()
        try:
            yield
        finally:
            cut.cancel()


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)


def _check_redirect(before: SplitResult, url: str) -> None:
    try:
        require_url("redirect", url)
    except RecordError:
        raise ProbeError("the server redirects to something that is not a plain http address") from None
    if before.scheme == "https" and urlsplit(url).scheme != "https":
        raise ProbeError("the server redirects from https to http")


def _first_answer(addresses: Iterable[str], port: int, deadline: LookDeadline) -> socket.socket:
    failure = "it has no address"
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout=deadline.left())
        except OSError as error:
            failure = error.strerror or type(error).__name__
    raise ProbeError(f"the server cannot be reached: {failure}")


def _listed(host: str, port: int, allowed: Iterable[str]) -> bool:
    """Whether a list of hosts names this one. Without a port, an entry means the two usual ones."""
    name = f"[{host}]" if ":" in host else host
    for entry in allowed:
        wanted, _, number = entry.lower().rpartition(":") if _with_port(entry) else (entry.lower(), "", "")
        if (int(number) != port) if number else (port not in _PORTS.values()):
            continue
        if name == wanted or (wanted.startswith("*.") and name.endswith(wanted[1:])):
            return True
    return False


def _with_port(entry: str) -> bool:
    return entry.rpartition(":")[2].isdigit()


def public(address: str) -> bool:
    """Whether an address, and every IPv4 address wrapped in it, is on the public internet."""
    ip = ipaddress.ip_address(address)
    inner: list[ipaddress.IPv4Address | None] = []
    if isinstance(ip, ipaddress.IPv6Address):
        inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in _NAT64 or ip in _COMPATIBLE:
            inner.append(ipaddress.IPv4Address(ip.packed[-4:]))
    return all(one is None or (one.is_global and not one.is_multicast) for one in [*inner, None if any(inner) else ip])


def _text(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset if charset in _CHARSETS else "utf-8")
    except UnicodeDecodeError:
        raise GoneError("it is not text") from None


def _part(body: bytes, pointer: str) -> bytes:
    """The whole of a body, or the value that a JSON pointer names in it: a string as it is, anything else as JSON."""
    if not pointer:
        return body
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        raise ProbeError("pointer: it is not JSON") from None
    for word in pointer[1:].split("/"):
        key = word.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise GoneError(f"it holds nothing at {pointer}")
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value, order="sorted")


def _words(page: str, deadline: LookDeadline) -> str:
    """The words of a page, without markup, scripts and styles.

    One pass: Python's parser starts over wherever markup is not finished, which a hostile page can repeat without end.
    A tag or comment still open at the end hides the rest, as in a browser.
    """
    words: list[str] = []
    hidden = at = 0
    while at < len(page):
        deadline.left()
        found = _MARKUP.search(page, at)
        if not hidden:
            words += unescape(page[at : found.start() if found else len(page)]).split()
        if found is None:
            break
        name, closing = (found["name"] or "").lower(), found["slash"] == "/"
        if not name:
            at = _after(_COMMENT_END if found[0] == "<!--" else _END, page, found.start() + 2)
            continue
        at = _after_tag(page, found.end())
        if page.startswith("/>", at - 2):
            continue
        if name in _RAW and not closing:
            at = _after(_RAW[name], page, at)
        elif name == "template":
            hidden = max(0, hidden - 1) if closing else hidden + 1
    return " ".join(words)


def _after(end: re.Pattern[str], page: str, at: int) -> int:
    found = end.search(page, at)
    return found.end() if found else len(page)


def _after_tag(page: str, at: int) -> int:
    """The end of a tag. A sign in the quotes of an attribute does not end it."""
    while found := _END_OR_QUOTE.search(page, at):
        if not found[1]:
            return found.end()
        at = page.find(found[1], found.end()) + 1
        if not at:
            break
    return len(page)
