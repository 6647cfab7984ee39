"""Two agents in two processes on one server over HTTP: A1 in Python leaves and returns, A2 in TypeScript goes on.

Needs Node, and the TypeScript client with its packages: run ``npm ci`` in ``clients/typescript`` once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parent.parent / "clients" / "typescript"
READMIT = str(Path(sys.executable).with_name("readmit"))
STORE = ("--db", "team.db", "--workspace", "trip")


class Program:
    """A process that is given lines and prints lines."""

    def __init__(self, *command: str, folder: Path, **settings: str) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **settings},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate()

    def go_on(self) -> None:
        """Let it do its next act."""
        print(file=self.process.stdin, flush=True)

    def until(self, wanted: str) -> str:
        """Print its lines until one holds the wanted words, and return that one."""
        for line in self.process.stdout or ():
            print(line, end="", flush=True)
            if wanted in line:
                return line
        raise SystemExit(f"{self.process.args!r} ended before it said {wanted!r}")


def readmit(folder: Path, *words: str) -> str:
    """The output of a command."""
    return subprocess.run([READMIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def key(folder: Path, principal: str, *words: str) -> str:
    """A new API key."""
    made = json.loads(readmit(folder, "credentials", "add", principal, *words, *STORE, "--json"))
    return str(made["key"])


def main() -> None:
    """Start the server and both agents, and let them act in turn."""
    quiet = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel", "error")
    subprocess.run(["npm", "install", *quiet], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    for place in (CLIENT, HERE):
        subprocess.run([CLIENT / "node_modules" / ".bin" / "tsc", "-p", place], check=True)
    with tempfile.TemporaryDirectory() as made, ExitStack() as running:
        folder = Path(made)
        os.environ["READMIT_KEYS"] = str(folder / "keys")
        readmit(folder, "init", *STORE)
        keys = {"A1": key(folder, "A1", "--role", "planner"), "A2": key(folder, "A2", "--right", "write")}
        server = running.enter_context(
            Program(READMIT, "serve", *STORE, "--listen", "127.0.0.1:0", folder=folder, PYTHONUNBUFFERED="1")
        )
        (url,) = re.findall(r"http://[\w.:]+", server.until("Serving"))

        def agent(name: str, *command: str) -> Program:
            settings = {"READMIT_URL": url, "READMIT_API_KEY": keys[name]}
            return running.enter_context(Program(*command, folder=folder, **settings))

        booker = agent("A2", "node", str(HERE / "dist" / "booker.js"))
        booker.until("booked Sunrise")
        planner = agent("A1", sys.executable, str(HERE / "planner.py"))
        planner.until("away")
        booker.go_on()
        booker.until("instead")
        planner.go_on()
        planner.until("works on")
        booker.go_on()
        booker.until("withdrew")
        planner.until("hears")


if __name__ == "__main__":
    main()
