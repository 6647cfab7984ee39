from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
import pytest

from readmit.errors import RecordError
from readmit.lab import canonical, decode
from readmit.records.probes import place_of
from readmit.sources import CallableProbe, CommandProbe, FileProbe, GitProbe, HttpProbe, McpProbe, Probe, SqlProbe

if TYPE_CHECKING:
    from collections.abc import Callable

D = sha256(b"text").hexdigest()
COMMIT = "a" * 40
EVERY: dict[str, Probe] = {
    "src/app.py:3-4": FileProbe(digest=D, path="src/app.py", first=3, last=4, size=9, before="ab", after="cd"),
    "app.py#Cart.total at main": GitProbe(
        digest=D, path="app.py", symbol="Cart.total", repository=".", ref="main", commit=COMMIT
    ),
    "https://example.org/x#/version": HttpProbe(digest=D, url="https://example.org/x", pointer="/version", etag='"1"'),
    "crm: SELECT 1": SqlProbe(digest=D, database="crm", query="SELECT 1", parameters=("a", 1, True, None)),
    "git --version": CommandProbe(digest=D, argv=("git", "--version"), lifetime=60),
    "rate('EUR', 2)": CallableProbe(digest=D, name="rate", arguments=("EUR", 2)),
    "notes: file:///notes": McpProbe(digest=D, server="notes", uri="file:///notes"),
}


@pytest.mark.parametrize("place", EVERY)
def test_a_probe_survives_its_canonical_bytes_and_says_where_it_looks(place: str) -> None:
    probe = EVERY[place]
    again: Probe = decode(canonical(probe), Probe, what="probe")  # type: ignore[arg-type]  # a union is a type form
    assert again == probe
    assert canonical(again) == canonical(probe)
    assert place_of(probe) == place


def test_canonical_bytes_hold_only_what_is_set() -> None:
    assert canonical(FileProbe(digest=D, path="a.txt")) == f'{{"digest":"{D}","of":"file","path":"a.txt"}}'.encode()


REFUSED: dict[str, tuple[Callable[[], Probe], str]] = {
    "lines that end before they begin": (lambda: FileProbe(digest=D, path="a", first=3, last=2), "first, last"),
    "a last line without a first": (lambda: FileProbe(digest=D, path="a", last=2), "first, last"),
    "lines and a symbol": (lambda: FileProbe(digest=D, path="a", first=1, last=2, symbol="f"), "symbol"),
    "a path of two lines": (lambda: FileProbe(digest=D, path="a\nb"), "path"),
    "a ref that is an option": (lambda: git("--upload-pack=x"), "ref"),
    "a ref that is an expression": (lambda: git("main:secrets"), "ref"),
    "a range of commits": (lambda: git("main..next"), "ref"),
    "a password": (lambda: HttpProbe(digest=D, url="https://me:secret@example.org/"), "url"),
    "a file as a URL": (lambda: HttpProbe(digest=D, url="file:///etc/passwd"), "url"),
    "a URL of two lines": (lambda: HttpProbe(digest=D, url="http://a/\r\nX: y"), "url"),
    "a URL without a host": (lambda: HttpProbe(digest=D, url="http:///x"), "url"),
    "a port that is none": (lambda: HttpProbe(digest=D, url="http://a:99999/"), "url"),
    "a quote and a pointer": (lambda: HttpProbe(digest=D, url="http://a/", quote="q", pointer="/p"), "pointer"),
    "a pointer without a slash": (lambda: HttpProbe(digest=D, url="http://a/", pointer="p"), "pointer"),
}


def git(ref: str) -> GitProbe:
    return GitProbe(digest=D, path="a", repository=".", ref=ref, commit=COMMIT)


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    make, field = REFUSED[case]
    with pytest.raises(RecordError, match=f"^{field}"):
        make()


def test_a_password_in_a_url_is_not_repeated_in_the_message() -> None:
    with pytest.raises(RecordError) as caught:
        HttpProbe(digest=D, url="https://me:secret@example.org/")
    assert "secret" not in str(caught.value)


def test_a_stored_probe_that_is_malformed_is_refused_by_its_field() -> None:
    wrong = msgspec.json.encode({"of": "git", "digest": D, "path": "a", "repository": ".", "ref": "-x", "commit": "no"})
    with pytest.raises(RecordError, match="commit"):
        decode(wrong, Probe, what="probe")  # type: ignore[arg-type]  # a union is a type form
