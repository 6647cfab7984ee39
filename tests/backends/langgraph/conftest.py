from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


def _binaries() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


def _unprivileged() -> list[str]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    for user in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            continue
        return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    return ["false"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server that lives as long as the tests."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("needs PostgreSQL's server: no initdb on PATH or in /usr/lib/postgresql")
    # Not below pytest's own directory, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="readmit-pg-"))
    become = _unprivileged()
    if become:
        folder.chmod(0o777)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"

    def run(*command: str) -> None:
        subprocess.run([*become, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=60)

    try:
        run(str(binaries / "initdb"), "-D", str(data), "-U", "readmit", "-A", "trust", "--no-sync", "-E", "UTF8")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(str(binaries / "pg_ctl"), "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
        yield f"postgresql://readmit@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run(
            [*become, str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"],
            check=False,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
        shutil.rmtree(folder, ignore_errors=True)
