"""What a hostile source, or a hostile probe, tries when it is looked at."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import threading
import time
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import count
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING

import msgspec
import psycopg
import pytest

from readmit import LookRules, Workspace
from readmit.errors import ProbeError
from readmit.sources import CommandProbe, File, FileProbe, Finding, GitProbe, HttpProbe, Looker, SqlProbe, files
from tests.postgres import ROLE
from tests.sources.conftest import PATIENT, Repo, limits_of
from tests.sources.test_web import Site, page, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    from readmit.sources import Probe, ProbeResult
    from tests.postgres import Server

D = sha256(b"captured").hexdigest()
SECRET = "the secret outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text(SECRET)
    return folder


@contextmanager
def cheaply() -> Iterator[None]:
    """Costs the processor no more than seconds. How long it takes depends on who else uses the machine."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 5


def looked(root: Path, probe: Probe, **limits: object) -> ProbeResult:
    given = {"roots": (str(root),), **PATIENT, **limits}
    with cheaply():
        [found] = Looker(limits_of(**given)).look([probe])
    assert SECRET not in found.text + found.why
    return found


# --- files


def link_to_the_file(root: Path) -> str:
    (root / "a.txt").symlink_to("../secret.txt")
    return "a.txt"


def link_to_the_directory(root: Path) -> str:
    (root / "up").symlink_to("..")
    return "up/secret.txt"


def link_inside_a_directory(root: Path) -> str:
    (root / "b").mkdir()
    (root / "b" / "up").symlink_to("../..")
    return "b/up/secret.txt"


def absolute_link(root: Path) -> str:
    (root / "a.txt").symlink_to(root.parent / "secret.txt")
    return "a.txt"


def fifo(root: Path) -> str:
    os.mkfifo(root / "a.txt")
    return "a.txt"


def unix_socket(root: Path) -> str:
    here = socket.socket(socket.AF_UNIX)
    with closing(here):
        here.bind(str(root / "s"))
    return "s"


def sparse_file(root: Path) -> str:
    with (root / "a.txt").open("wb") as file:
        file.truncate(1 << 40)
    return "a.txt"


NOT_LOOKED_AT: dict[str, Callable[[Path], str]] = {
    "a link to a file outside": link_to_the_file,
    "a link to a directory outside": link_to_the_directory,
    "a link further down": link_inside_a_directory,
    "an absolute link": absolute_link,
    "dots": lambda _: "../secret.txt",
    "dots further down": lambda _: "b/../../secret.txt",
    "an absolute path": lambda root: str(root.parent / "secret.txt"),
    "an absolute path with dots": lambda root: f"{root}/../secret.txt",
    "a directory whose name begins as the root's": lambda root: f"{root}2/secret.txt",
    "a FIFO without a writer": fifo,
    "a socket": unix_socket,
    "a terabyte": sparse_file,
}


@pytest.mark.parametrize("attack", NOT_LOOKED_AT)
def test_a_file_is_not_looked_at_through(attack: str, root: Path) -> None:
    path = NOT_LOOKED_AT[attack](root)
    assert looked(root, FileProbe(digest=D, path=path)).outcome is Finding.UNSEEN
    with pytest.raises(ProbeError):
        Looker(LookRules(roots=(str(root),))).capture(File(path))


SECRETS = [
    ".env", ".env.local", "prod.pem", "server.key", "state.keys/signing.json", ".ssh/id_ed25519", ".aws/credentials",
    ".netrc", ".git/config", ".GIT/config", "sub/.git-credentials", "id_rsa", "sub/.Env",
]  # fmt: skip


@pytest.mark.parametrize("path", SECRETS)
def test_a_probe_does_not_bring_a_secret_of_the_machine_into_the_log(path: str, root: Path) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(SECRET)
    assert looked(root, FileProbe(digest=D, path=path)).outcome is Finding.UNSEEN


@pytest.mark.parametrize("path", [".env.example", ".github/ci.yml", "keys.md", "src/env.py", ".gitignore", "monkey"])
def test_a_file_with_a_name_like_a_secret_is_read(path: str, root: Path) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("harmless")
    assert looked(root, FileProbe(digest=D, path=path)).text == "harmless"


def test_the_keys_of_a_workspace_are_not_read_by_its_own_looks(root: Path) -> None:
    (root / "config").mkdir()
    with Workspace.open(root / "trip.db", keys=root / "config" / "keys") as trip:
        trip.observe("The agent starts.", by="A2")
    keys = list(root.rglob("*.pem"))
    assert keys
    for path in keys:
        assert looked(root, FileProbe(digest=D, path=str(path.relative_to(root)))).outcome is Finding.UNSEEN


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/dev/null", "/dev/stdin"])
def test_a_device_is_not_opened(device: str) -> None:
    found = Looker(LookRules(roots=("/dev",))).look([FileProbe(digest=D, path=device)])
    assert [one.outcome for one in found] == [Finding.UNSEEN]


def test_a_device_node_below_the_root_is_not_opened(root: Path) -> None:
    try:
        os.mknod(root / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("needs the right to make a device node")
    assert looked(root, FileProbe(digest=D, path="zero")).why == "zero is not a regular file"


def test_a_file_that_is_longer_than_it_says_is_not_read_to_its_end() -> None:
    """Files of the kernel give no size."""
    found = Looker(LookRules(roots=("/proc",), bytes=100)).look([FileProbe(digest=D, path="/proc/self/mountinfo")])
    # /proc/self is a link; its target is a plain directory.
    own = Looker(LookRules(roots=("/proc",), bytes=100)).look([FileProbe(digest=D, path=f"{os.getpid()}/mountinfo")])
    assert [one.outcome for one in found + own] == [Finding.UNSEEN, Finding.UNSEEN]
    assert own[0].why == "it has more than 100 bytes, which is the limit"


def test_a_quote_that_could_stand_at_a_million_places_ends_in_time(root: Path) -> None:
    (root / "a.txt").write_text("\n" * 900_000)
    probe = FileProbe(digest=D, path="a.txt", first=1, last=300_000, size=299_999)
    assert looked(root, probe, seconds=0.5).outcome is Finding.UNSEEN


UNPARSABLE = {
    "open brackets": "(" * 100_000,
    "signs": "-" * 300_000 + "1",
    "nested lists": "x = " + "[" * 5_000 + "]" * 5_000,
    "attributes": "a" + ".b" * 200_000,
    "zero bytes": "\0" * 1_000,
}


@pytest.mark.parametrize("source", UNPARSABLE)
def test_source_that_no_parser_can_take_does_not_end_the_program(source: str, root: Path) -> None:
    (root / "a.py").write_text(UNPARSABLE[source])
    found = looked(root, FileProbe(digest=D, path="a.py", symbol="f"))
    assert found.outcome in (Finding.UNSEEN, Finding.GONE)


def swapping(root: Path, monkeypatch: pytest.MonkeyPatch, replace: Callable[[Path], object]) -> None:
    """Let a file be replaced between the look at its status and its opening."""
    (root / "a.txt").write_text("harmless")
    examine = files._status

    def swap(directory: int, name: str) -> os.stat_result:
        status = examine(directory, name)
        (root / "a.txt").unlink()
        replace(root / "a.txt")
        return status

    monkeypatch.setattr(files, "_status", swap)


def test_a_link_that_takes_the_place_of_a_file_while_it_is_read_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapping(root, monkeypatch, lambda place: place.symlink_to("../secret.txt"))
    assert looked(root, FileProbe(digest=D, path="a.txt")).outcome is Finding.UNSEEN


def test_a_fifo_that_takes_the_place_of_a_file_while_it_is_read_does_not_block(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapping(root, monkeypatch, os.mkfifo)
    assert looked(root, FileProbe(digest=D, path="a.txt")).why == "a.txt is not a regular file"


def test_a_directory_that_becomes_a_link_during_a_look_leads_nowhere_else(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "b").mkdir()
    (root / "b" / "secret.txt").write_text("harmless")
    examine = files._status

    def swap(directory: int, name: str) -> os.stat_result:
        if (root / "b").is_dir() and not (root / "b").is_symlink():
            (root / "b").rename(root / "c")
            (root / "b").symlink_to("..")
        return examine(directory, name)

    monkeypatch.setattr(files, "_status", swap)
    assert looked(root, FileProbe(digest=D, path="b/secret.txt")).text == "harmless"


def test_the_text_that_is_kept_is_the_text_that_was_hashed_while_a_writer_never_rests(root: Path) -> None:
    place = root / "a.txt"
    versions = ["a" * 50_000, "b" * 70_000]
    place.write_text(versions[0])
    stop = threading.Event()

    def rewrite() -> None:
        for number in count():
            if stop.is_set():
                return
            if number % 3 == 0:
                place.write_text(versions[number % 2])
            else:
                (root / "new").write_text(versions[number % 2])
                (root / "new").replace(place)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        looker = Looker(LookRules(roots=(str(root),)))
        found = [looker.look([FileProbe(digest=D, path="a.txt")])[0] for _ in range(300)]
    finally:
        stop.set()
        writer.join()
    kept = [one for one in found if one.outcome is Finding.CHANGED]
    assert kept
    assert all(one.probe.digest == sha256(one.text.encode()).hexdigest() for one in kept)
    assert {len(set(one.text)) for one in kept} == {1}


def test_a_change_right_after_a_look_within_the_same_tick_is_seen_by_the_next(root: Path) -> None:
    looker = Looker(LookRules(roots=(str(root),)))
    (root / "a.txt").write_text("v000")
    for number in range(1, 200):
        _, probe = looker.capture(File("a.txt"))
        looker.look([probe])
        (root / "a.txt").write_text(f"v{number:03}")
        assert [found.text for found in looker.look([probe])] == [f"v{number:03}"]


# --- git


@pytest.fixture
def repo(root: Path) -> Repo:
    one = Repo(root / "repo")
    one.commit(a__txt="text\n")
    return one


def git_probe(**fields: str) -> GitProbe:
    given = {"digest": D, "repository": "repo", "ref": "HEAD", "commit": "0" * 40, "path": "a.txt", **fields}
    return msgspec.convert(given, GitProbe)


def test_hooks_filters_and_configured_programs_of_a_repository_do_not_run(repo: Repo, root: Path) -> None:
    mark = root / "ran"
    program = root / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "fsmonitor-watchman"):
        (repo.folder / ".git" / "hooks" / hook).symlink_to(program)
    for name in (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy",
        "core.alternateRefsCommand", "diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.smudge",
        "filter.evil.clean", "filter.evil.process", "credential.helper", "uploadpack.packObjectsHook", "gpg.program",
        "pager.cat-file", "pager.diff-tree", "alias.cat-file",
    ):  # fmt: skip
        repo.git("config", name, str(program))
    repo.git("config", "core.hooksPath", str(root))
    (repo.folder / ".git" / "info" / "attributes").write_text("* diff=evil filter=evil\n")
    tampered = git_probe(commit=(repo.folder / ".git" / "refs" / "heads" / "main").read_text().strip())
    assert looked(root, tampered).text == "text\n"
    Repo.git(repo, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "mv", "a.txt", "b.txt")
    mark.unlink(missing_ok=True)
    tree = repo.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "write-tree")
    commit = repo.git("-c", "core.hooksPath=/dev/null", "commit-tree", "-m", "m", tree)
    (repo.folder / ".git" / "refs" / "heads" / "main").write_text(commit + "\n")
    mark.unlink(missing_ok=True)
    assert looked(root, tampered).text == "text\n"  # found by the comparison of the two commits
    assert not mark.exists()


def test_a_missing_object_of_a_partial_clone_is_not_fetched(repo: Repo, root: Path) -> None:
    mark = root / "ran"
    blob = repo.git("rev-parse", "HEAD:a.txt")
    (repo.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "remote.origin.promisor", "true")
    repo.git("config", "remote.origin.url", f"ext::sh -c touch% {mark}")
    repo.git("config", "protocol.ext.allow", "always")
    assert looked(root, git_probe()).why == "this clone lacks the object of the file; fetch it"
    assert not mark.exists()


def borrow(repo: Repo, outside: Repo, line: str) -> None:
    (repo.folder / ".git" / "objects" / "info" / "alternates").write_text(f"{line}\n")
    (repo.folder / ".git" / "refs" / "heads" / "main").write_text(outside.git("rev-parse", "HEAD") + "\n")


def point(repo: Repo, outside: Repo) -> None:
    (repo.folder / ".git").rename(repo.folder / "old")
    (repo.folder / ".git").write_text(f"gitdir: {outside.folder}/.git\n")


def link(repo: Repo, outside: Repo) -> None:
    (repo.folder / ".git").rename(repo.folder / "old")
    (repo.folder / ".git").symlink_to(outside.folder / ".git")


def share(repo: Repo, outside: Repo) -> None:
    (repo.folder / ".git" / "commondir").write_text(f"{outside.folder}/.git\n")


def link_packs(repo: Repo, outside: Repo) -> None:
    outside.git("gc", "--quiet")
    for pack in (outside.folder / ".git" / "objects" / "pack").iterdir():
        (repo.folder / ".git" / "objects" / "pack" / pack.name).symlink_to(pack)
    (repo.folder / ".git" / "refs" / "heads" / "main").write_text(outside.git("rev-parse", "HEAD") + "\n")


def borrow_twice(repo: Repo, outside: Repo) -> None:
    second = Repo(repo.folder.parent / "second")
    borrow(second, outside, str(outside.folder / ".git" / "objects"))
    borrow(repo, outside, str(second.folder / ".git" / "objects"))


READS_OUTSIDE: dict[str, Callable[[Repo, Repo], None]] = {
    "borrowed objects": lambda repo, outside: borrow(repo, outside, str(outside.folder / ".git" / "objects")),
    "borrowed objects in quotes": lambda repo, outside: borrow(repo, outside, f'"{outside.folder}/.git/objects"'),
    "objects borrowed twice": borrow_twice,
    "a file in place of the directory": point,
    "a link in place of the directory": link,
    "a common directory": share,
    "linked packs": link_packs,
}


@pytest.mark.parametrize("attack", READS_OUTSIDE)
def test_a_repository_outside_the_root_is_not_read_through(attack: str, repo: Repo, root: Path, tmp_path: Path) -> None:
    outside = Repo(tmp_path / "outside")
    outside.commit(a__txt=SECRET)
    READS_OUTSIDE[attack](repo, outside)
    assert looked(root, git_probe()).outcome is Finding.UNSEEN


def test_an_endless_pointer_file_is_not_read_to_its_end(repo: Repo, root: Path) -> None:
    (repo.folder / ".git").rename(repo.folder / "old")
    with (repo.folder / ".git").open("wb") as file:
        file.truncate(1 << 40)
    assert looked(root, git_probe()).outcome is Finding.UNSEEN


def test_a_blob_beyond_the_limit_is_not_unpacked(repo: Repo, root: Path) -> None:
    repo.commit(a__txt="0" * 5_000_000)
    found = looked(root, git_probe(), bytes=1_000_000)
    assert (found.outcome, found.why) == (Finding.UNSEEN, "it has 5000000 bytes; the limit is 1000000")


# --- HTTP


@pytest.fixture
def site() -> Iterator[Site]:
    with served() as one:
        yield one


def asked(site: Site, url: str = "", **limits: object) -> ProbeResult:
    with cheaply():
        [found] = site.looker(**limits).look([HttpProbe(digest=D, url=url or site.url)])
    return found


def drip(head: bytes, body: bytes) -> Callable[..., None]:
    def answer(request: object) -> None:
        out = request.wfile  # type: ignore[attr-defined]
        try:
            out.write(head)
            for _ in range(2_000):
                out.write(body)
                out.flush()
                time.sleep(0.05)
        except OSError:
            pass

    return answer


DRIPS = {
    "a status line": drip(b"", b"H"),
    "headers": drip(b"HTTP/1.1 200 OK\r\n", b"X"),
    "a body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"x"),
    "chunks": drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "nothing": drip(b"", b""),
}


@pytest.mark.parametrize("what", DRIPS)
def test_a_server_that_drips_is_given_up_and_its_connection_ended(what: str, site: Site) -> None:
    site.answer = DRIPS[what]
    assert asked(site, seconds=0.4).outcome is Finding.UNSEEN
    assert_nothing_looks_any_more()


def assert_nothing_looks_any_more() -> None:
    for thread in threading.enumerate():
        if thread.name == "readmit-look-http":
            thread.join(60)
            assert not thread.is_alive(), "it goes on after its look"


def test_a_body_beyond_the_limit_is_not_read_to_its_end(site: Site) -> None:
    site.answer = drip(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"fffff\r\n" + b"x" * 0xFFFFF + b"\r\n"
    )
    assert asked(site, bytes=10_000).why == "it has more than 10000 bytes, which is the limit"


CUT = {
    "its status": b"HTTP/1.1 200",
    "its headers": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "its body": b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nhello",
    "a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello",
    "its chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "a body without a length": b"HTTP/1.0 200 OK\r\n\r\nhello",
}


@pytest.mark.parametrize("where", CUT)
def test_an_answer_that_may_have_been_cut_off_is_no_answer(where: str, site: Site) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(CUT[where])

    site.answer = answer
    assert asked(site).outcome is Finding.UNSEEN


def test_compressed_data_is_not_unpacked(site: Site) -> None:
    site.answer = page(b"\x1f\x8b", Content_Encoding="gzip")
    assert asked(site).outcome is Finding.UNSEEN


INWARD = [
    "http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://0:{port}/",
    "http://2130706433:{port}/", "http://0x7f.1:{port}/", "http://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd", "gopher://127.0.0.1:{port}/", "http://user:pass@127.0.0.1:{port}/", "//127.0.0.1:{port}/",
]  # fmt: skip


@pytest.mark.parametrize("place", INWARD)
def test_a_redirect_inward_is_not_followed(place: str, site: Site) -> None:
    with served() as inside:
        inside.answer = page(SECRET.encode())
        port = inside.server.server_port
        site.answer = page(b"", status=302, Location=place.format(port=port))
        # Even if a careless list allows every name and number.
        names = ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0", "2130706433", "0x7f.1", "169.254.169.254")
        hosts = (site.host, "169.254.169.254", *(f"{name}:{port}" for name in names))
        assert asked(site, hosts=hosts, private_hosts=(site.host,)).outcome is Finding.UNSEEN
        assert inside.asked == []


def test_a_name_that_resolves_inward_is_not_asked_unless_it_is_allowed_to_be_private(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = site.server.server_port
    url = f"http://docs.example.org:{port}/"
    monkeypatch.setattr(socket, "getaddrinfo", resolving("127.0.0.1"))
    assert asked(site, url, hosts=(f"docs.example.org:{port}",)).why.startswith("private_hosts: docs.example.org")
    assert site.asked == []
    allowed = asked(site, url, hosts=(f"*.example.org:{port}",), private_hosts=(f"docs.example.org:{port}",))
    assert allowed.outcome is Finding.CHANGED


def test_one_private_address_among_public_ones_is_enough_to_refuse(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving("93.184.216.34", "10.0.0.1"))
    url = "http://docs.example.org/"
    assert asked(site, url, hosts=("docs.example.org",)).why.startswith("private_hosts")


def test_a_name_is_resolved_once_so_that_it_cannot_turn_inward_afterwards(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(["93.184.216.34", "127.0.0.1"])
    connected: list[object] = []

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        connected.append(address)
        raise OSError("not reached in a test")

    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **_: resolving(next(answers))(host, port))
    monkeypatch.setattr(socket, "create_connection", connect)
    port = site.server.server_port
    asked(site, f"http://docs.example.org:{port}/", hosts=(f"docs.example.org:{port}",))
    assert connected == [("93.184.216.34", port)]


def resolving(*addresses: str) -> Callable[..., list[object]]:
    return lambda _, port, *__, **___: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]


def test_a_star_means_names_below_a_domain_and_no_other(site: Site) -> None:
    for host in ("evilexample.org", "example.org.evil.net", "example.org"):
        assert asked(site, f"http://{host}/", hosts=("*.example.org",)).why.startswith(
            f"hosts: {host}:80 is not allowed"
        )


ENDLESS_MARKUP = {
    "declarations": b"<!" * 400_000,
    "marked sections": b"<![" * 300_000,
    "comments": b"<!--" * 200_000,
    "comments that nearly end": b"<!-- --" * 130_000,
    "processing instructions": b"<?" * 400_000,
    "tags": b"<a " * 300_000,
    "closing tags": b"</a " * 200_000,
    "attributes": b"<a " + b"b=" * 400_000,
    "quotes": b"<a b='" * 150_000,
    "quotes of two kinds": b"<a b='\" " * 110_000,
    "spaces": b"<a b=" + b" " * 900_000 + b"<a b=" * 1_000,
    "scripts": b"<script>" * 120_000,
    "scripts that nearly end": b"<script></script" * 60_000,
    "references": b"&" * 900_000,
    "long references": b"&" + b"CounterClockwiseContourIntegra" * 30_000,
    "numbers": b"&#1" * 300_000,
    "less-than signs": b"<" * 900_000,
}


@pytest.mark.parametrize("what", ENDLESS_MARKUP)
def test_markup_that_never_ends_costs_no_more_than_the_time_of_a_look(what: str, site: Site) -> None:
    site.answer = page(ENDLESS_MARKUP[what], kind="text/html")
    assert asked(site).outcome in (Finding.UNSEEN, Finding.CHANGED, Finding.GONE)
    assert_nothing_looks_any_more()


def test_a_page_is_given_up_at_its_deadline(site: Site) -> None:
    site.answer = page(b"<b>x</b> " * 100_000, kind="text/html")
    with cheaply():
        assert asked(site, seconds=0.05).outcome is Finding.UNSEEN
    assert_nothing_looks_any_more()


# --- SQL

WRITES = [
    "INSERT INTO t VALUES (2)",
    "DELETE FROM t",
    "DROP TABLE t",
    "UPDATE t SET n = 3 RETURNING n",
    "SELECT 1; DELETE FROM t",
    "SELECT 1; COMMIT; DELETE FROM t",
    "WITH gone AS (DELETE FROM t RETURNING n) SELECT * FROM gone",
    "CREATE TABLE u (n INTEGER)",
    "COMMIT",
    "ROLLBACK",
    "VACUUM",
]
ON_SQLITE = [
    "ATTACH 'other.db' AS other",
    "VACUUM INTO 'other.db'",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = WAL",
    "SELECT load_extension('evil')",
    "SELECT writefile('other.db', 'x')",
    "SELECT * FROM pragma_database_list",
]
ON_POSTGRES = [
    "COPY t TO PROGRAM 'touch /tmp/evil'",
    "SELECT nextval('s')",
    "SELECT set_config('transaction_read_only', 'off', false) FROM t; DELETE FROM t",
    "SET TRANSACTION READ WRITE",
    "DO 'BEGIN DELETE FROM t; END'",
    "SELECT n FROM t FOR UPDATE",
    "SELECT take()",
]


def sql(place: str, query: str, **limits: object) -> ProbeResult:
    looker = Looker(limits_of(**PATIENT | limits), databases={"d": place})
    [found] = looker.look([SqlProbe(digest=D, database="d", query=query)])
    return found


@pytest.mark.parametrize("query", WRITES + ON_SQLITE)
def test_a_query_that_writes_is_refused_by_sqlite(query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("a.db")) as opened:
        opened.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1);")
    before = (tmp_path / "a.db").read_bytes()
    assert sql("a.db", query).outcome is Finding.UNSEEN
    assert ((tmp_path / "a.db").read_bytes(), list(tmp_path.iterdir())) == (before, [tmp_path / "a.db"])


_schemas = count(1)


@pytest.fixture
def team(server: Server) -> str:
    schema = f"attacked{next(_schemas)}"
    server.sql(f"CREATE SCHEMA {schema} AUTHORIZATION {ROLE}", database="team")
    place = f"{server.url()}?options=-csearch_path%3D{schema}"
    with psycopg.connect(place) as opened:
        opened.execute("CREATE TABLE t (n INTEGER)")
        opened.execute("CREATE SEQUENCE s")
        opened.execute("INSERT INTO t VALUES (1)")
        opened.execute("CREATE FUNCTION take() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING n'")
    return place


@pytest.mark.parametrize("query", WRITES + ON_POSTGRES)
def test_a_query_that_writes_is_refused_by_postgres(query: str, team: str) -> None:
    assert sql(team, query).outcome is Finding.UNSEEN
    with psycopg.connect(team) as opened:
        assert opened.execute("SELECT n FROM t").fetchall() == [(1,)]
        assert opened.execute("SELECT is_called FROM s").fetchall() == [(False,)]


def test_what_a_read_only_transaction_lets_through_is_rolled_back(team: str) -> None:
    sql(team, "SELECT lo_create(4711)")
    with psycopg.connect(team) as opened:
        assert opened.execute("SELECT oid FROM pg_largeobject_metadata WHERE oid = 4711").fetchall() == []


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {} FROM r"


def test_a_query_that_does_not_end_is_ended(tmp_path: Path, team: str) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as opened:
        opened.execute("CREATE TABLE t (n INTEGER)")
    for place in (str(tmp_path / "a.db"), team):
        with cheaply():
            assert sql(place, ENDLESS.format("count(*)"), seconds=1.0).outcome is Finding.UNSEEN
            assert sql(place, ENDLESS.format("n"), bytes=10_000).outcome is Finding.UNSEEN
    assert sql(team, "SELECT pg_sleep(600)", seconds=1.0).outcome is Finding.UNSEEN


def test_a_value_of_a_gigabyte_is_not_made(tmp_path: Path) -> None:
    before = getrusage(RUSAGE_SELF).ru_maxrss
    with closing(sqlite3.connect(tmp_path / "a.db")) as opened:
        opened.execute("CREATE TABLE t (n INTEGER)")
    for value in ("zeroblob(1000000000)", "hex(randomblob(900000))"):
        assert sql(str(tmp_path / "a.db"), f"SELECT {value}").outcome is Finding.UNSEEN
    # SQLite's own answer where its formatting meets the limit.
    assert sql(str(tmp_path / "a.db"), "SELECT printf('%.*c', 200000000, 'x')").text == "[[null]]"
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


def test_the_password_of_a_database_is_in_no_reason(team: str) -> None:
    wrong = team.replace("s3cret-w0rd", "wr0ng-w0rd")
    found = sql(wrong, "SELECT 1")
    assert found.outcome is Finding.UNSEEN
    assert "wr0ng-w0rd" not in found.why


# --- commands


def test_a_stored_command_that_is_no_longer_allowed_does_not_run(root: Path) -> None:
    probe = CommandProbe(digest=D, argv=("touch", str(root / "ran")))
    assert looked(root, probe).why.startswith("commands: ")
    assert not (root / "ran").exists()
