from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from readmit.errors import ProbeError
from readmit.sources import Command, Finding, Looker, sandbox
from tests.sources.conftest import PATIENT, limits_of

if TYPE_CHECKING:
    from tests.sources.conftest import Repo

PYTHON = sys.executable


def looker(root: Path, *commands: tuple[str, ...], **limits: object) -> Looker:
    return Looker(limits_of(roots=(str(root),), commands=commands, **PATIENT | limits))


def test_the_output_of_an_allowed_command_is_captured_and_compared(root: Path) -> None:
    (root / "version").write_text("1.2\n")
    one = looker(root, ("cat", "version"))
    text, probe = one.capture(Command(["cat", "version"]))
    assert text == "1.2\n"
    assert one.look([probe]) == [(Finding.UNCHANGED, probe, "", "")]
    (root / "version").write_text("1.3\n")
    assert [(found.outcome, found.text) for found in one.look([probe])] == [(Finding.CHANGED, "1.3\n")]


ALLOWED = {
    "the same words": (("cat", "a"), ["cat", "a"], True),
    "further words": (("cat", "a"), ["cat", "a", "b"], False),
    "fewer words": (("cat", "a"), ["cat"], False),
    "further words after a star": (("cat", "*"), ["cat", "a", "b"], True),
    "other words before a star": (("cat", "-n", "*"), ["cat", "a"], False),
    "a star alone is no wildcard": (("*",), ["cat", "a"], False),
    "nothing is allowed": ((), ["cat", "a"], False),
    "one word that looks like two": (("cat", "a"), ["cat a"], False),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_what_the_list_allows(case: str, root: Path) -> None:
    entry, argv, allowed = ALLOWED[case]
    (root / "a").write_text("a\n")
    (root / "b").write_text("b\n")
    if allowed:
        assert looker(root, entry).capture(Command(argv)).text.startswith("a")
    else:
        with pytest.raises(ProbeError, match=r"^commands: .* is not allowed"):
            looker(root, entry).capture(Command(argv))


def test_no_shell_reads_the_words(root: Path) -> None:
    words = ("echo", "$HOME; touch x", "*")
    assert looker(root, (*words, "&&")).capture(Command([*words, "&&"])).text == "$HOME; touch x * &&\n"


def test_the_environment_of_the_program_stays_with_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    text = looker(root, ("env",)).capture(Command(["env"])).text
    assert sorted(line.partition("=")[0] for line in text.splitlines()) == ["HOME", "LC_ALL", "PATH"]


def test_a_command_that_fails_was_not_looked_at(root: Path) -> None:
    with pytest.raises(ProbeError, match=r"^the command ended with status 1$"):
        looker(root, ("false",)).capture(Command(["false"]))
    with pytest.raises(ProbeError, match=r"^there is no program 'no-such-program' in"):
        looker(root, ("no-such-program",)).capture(Command(["no-such-program"]))


def test_a_command_that_ends_too_late_or_writes_too_much_is_ended(root: Path) -> None:
    mark = f"9{os.getpid()}"
    with pytest.raises(ProbeError, match="took too long"):
        looker(root, ("sleep", mark), seconds=1.0).capture(Command(["sleep", mark]))
    assert not running(mark)
    with pytest.raises(ProbeError, match="more than 1000000 bytes"):
        looker(root, ("yes", mark)).capture(Command(["yes", mark]))
    assert not running(mark)


def test_a_sandboxed_command_writes_nothing_and_reaches_no_network(root: Path, tmp_path: Path) -> None:
    script = root / "try.py"
    script.write_text(f"""
import socket
def attempt(what):
    try:
        what()
        print("done")
    except OSError as error:
        print(type(error).__name__)
attempt(lambda: open({str(root / "new")!r}, "w").close())
attempt(lambda: open({str(tmp_path / "new")!r}, "w").close())
attempt(lambda: open("/dev/shm/readmit-new", "w").close())
attempt(lambda: socket.create_connection(("127.0.0.1", 9), 1))
print(sorted(name for name in __import__("os").listdir("/proc") if name.isdigit()))
""")
    text = looker(root, (PYTHON, "try.py")).capture(Command([PYTHON, "try.py"])).text
    assert text.splitlines()[:4] == ["OSError", "OSError", "OSError", "OSError"]
    assert text.splitlines()[4] in ("['1']", "[]")
    assert not (root / "new").exists()


def test_a_sandboxed_command_has_the_harmless_devices_and_no_other(root: Path) -> None:
    (root / "try.py").write_text("""
import os
for name in ("null", "zero", "urandom", "tty", "loop0", "sda", "vda", "mem", "kmsg"):
    try:
        os.close(os.open(f"/dev/{name}", os.O_RDONLY))
        print(name)
    except OSError:
        pass
open("/dev/null", "w").write("x")
""")
    text = looker(root, (PYTHON, "try.py")).capture(Command([PYTHON, "try.py"])).text
    assert text.split() == ["null", "zero", "urandom"]


def test_git_runs_in_the_sandbox(repo: Repo, root: Path) -> None:
    repo.commit(a__txt="text\n")
    argv = ("git", "-C", "repo", "log", "--format=%s")
    found = looker(root, argv).capture(Command(argv))
    assert found.text == "m\n"


def test_a_sandboxed_command_cannot_open_its_sandbox(root: Path) -> None:
    """Also if it runs as root, which rules its own namespaces unless its capabilities are dropped."""
    (root / "try.py").write_text("""
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
attributes = struct.pack("QQQQ", 0, 1, 0, 0)
for new in (0, 0x10020000):
    if new and libc.unshare(new):
        print("no namespace of its own")
    answer = libc.syscall(442, -100, b"/", 0x8000, attributes, len(attributes))
    answer = answer and libc.mount(None, b"/", None, ctypes.c_ulong(32 | 4096), None)
    print(answer, os.access("/", os.W_OK))
""")
    text = looker(root, (PYTHON, "try.py")).capture(Command([PYTHON, "try.py"])).text
    assert [line for line in text.splitlines() if line.endswith(("True", "False"))] == ["-1 False", "-1 False"]


def test_with_limits_alone_a_file_cannot_grow_and_the_sandbox_is_not_needed(root: Path) -> None:
    script = root / "try.py"
    script.write_text("file = open('new', 'w')\nfile.write('x')\nfile.close()\n")
    with pytest.raises(ProbeError, match="ended with status"):
        looker(root, (PYTHON, "try.py"), sandbox="limits").capture(Command([PYTHON, "try.py"]))
    assert (root / "new").read_text() == ""


def test_what_a_command_leaves_running_is_ended_with_it(root: Path) -> None:
    mark = f"99999.{os.getpid()}"
    script = root / "leave.py"
    script.write_text(
        "import os\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    os.closerange(0, 3)\n"
        f"    os.execvp('sleep', ['sleep', '{mark}'])\n"
        "print('left')\n"
    )
    assert looker(root, (PYTHON, "leave.py")).capture(Command([PYTHON, "leave.py"])).text == "left\n"
    assert not running(mark)


def running(mark: str) -> bool:
    """Whether a process with such a word in its command stays."""
    end = time.monotonic() + 20
    while any(mark.encode() in command_line(process) for process in Path("/proc").glob("[0-9]*")):
        if time.monotonic() > end:
            return True
        time.sleep(0.05)
    return False


def command_line(process: Path) -> bytes:
    with suppress(OSError):
        return (process / "cmdline").read_bytes()
    return b""


def test_where_no_namespace_can_be_made_nothing_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = root / "sandbox.py"
    broken.write_text(Path(sandbox.__file__).read_text().replace('_call("unshare", _NEW)', "raise OSError(1, 'no')"))
    monkeypatch.setattr(sandbox, "__file__", str(broken))
    with pytest.raises(ProbeError, match=r"^sandbox: this system allows no namespaces"):
        looker(root, ("echo", "x")).capture(Command(["echo", "x"]))
    assert looker(root, ("echo", "x"), sandbox="limits").capture(Command(["echo", "x"])).text == "x\n"
