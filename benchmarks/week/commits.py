"""The forty commits of the week, each a few edits. Some change what a memory line says; the others do not."""

from __future__ import annotations

import subprocess
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.week.checkout import FILES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Commit(NamedTuple):
    """Files written, moved and removed, and texts replaced in files, in that order."""

    subject: str
    write: Mapping[str, str] = MappingProxyType({})
    move: Mapping[str, str] = MappingProxyType({})
    remove: tuple[str, ...] = ()
    replace: tuple[tuple[str, str, str], ...] = ()

    def apply(self, top: Path) -> None:
        for name, text in self.write.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text, encoding="utf-8")
        for old, new in self.move.items():
            (top / new).parent.mkdir(parents=True, exist_ok=True)
            _git(top, "mv", old, new)
        if self.remove:
            _git(top, "rm", "-r", "-q", *self.remove)
        for name, old, new in self.replace:
            text = (top / name).read_text(encoding="utf-8")
            if old not in text:
                raise ValueError(f"{self.subject}: {name} does not say {old!r}")
            (top / name).write_text(text.replace(old, new), encoding="utf-8")
        _git(top, "add", "--all")
        _git(top, "commit", "-q", "-m", self.subject)


def start_repository(top: Path) -> None:
    top.mkdir(parents=True)
    _git(top, "init", "-q", "-b", "main")


def _git(top: Path, *words: str) -> None:
    who = ("-c", "user.name=A2", "-c", "user.email=a2@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=top, check=True, capture_output=True)


COMMITS = (
    Commit("Start", write=FILES),
    Commit("Timetables are kept for a minute", write={"src/ferry/cache.py": "SECONDS = 60\n"}),
    Commit(
        "Prices are a matter of their own: pricing",
        move={"src/ferry/prices.py": "src/ferry/pricing.py"},
        replace=(("src/ferry/cli.py", "ferry.prices", "ferry.pricing"),),
    ),
    Commit("A typo", replace=(("docs/deploy.md", "Push, and wait.", "Push and wait."),)),
    Commit(
        "ruff instead of flake8",
        replace=(
            ("Makefile", "flake8 src", "ruff check src"),
            ("pyproject.toml", "[tool.flake8]\nmax-line-length", "[tool.ruff]\nline-length"),
        ),
    ),
    Commit("The old importer is gone", remove=("src/ferry/legacy",)),
    # The first session begins here.
    Commit(
        "A booking has a name",
        replace=(("src/ferry/bookings.py", "self.paid = 0", 'self.paid = 0\n        self.name = ""'),),
    ),
    Commit("The server listens where the proxy expects it", replace=(("config/service.toml", "8080", "9000"),)),
    Commit(
        "Discount codes",
        replace=(
            ("src/ferry/pricing.py", "booking.passengers)", "booking.passengers - discount)"),
            ("src/ferry/pricing.py", "price_of(booking)", "price_of(booking, discount=0)"),
        ),
    ),
    Commit(
        "What a timetable is",
        replace=(("web/src/api.ts", "export async", "/** The departures of a day. */\nexport async"),),
    ),
    Commit("make release, as everywhere", replace=(("Makefile", "ship: test", "release: test"),)),
    Commit(
        "seed: say how many rows",
        replace=(("src/ferry/cli.py", '"--small", action="store_true"', '"--rows", type=int, default=10'),),
    ),
    Commit("A test of names", write={"tests/test_names.py": "def test_a_name():\n    assert True\n"}),
    Commit(
        "Everything that notifies in one place",
        write={"src/ferry/notify/__init__.py": ""},
        move={"src/ferry/mail.py": "src/ferry/notify/mail.py"},
        replace=(("src/ferry/worker.py", "ferry.mail", "ferry.notify.mail"),),
    ),
    # The second.
    Commit(
        "The Makefile in the order of use",
        replace=(
            (
                "Makefile",
                "lint:\n\tpython -m ruff check src\n\nserve:\n\tferry serve\n",
                "serve:\n\tferry serve\n\nlint:\n\tpython -m ruff check src\n",
            ),
        ),
    ),
    Commit("AGENTS.md: the port", replace=(("AGENTS.md", "The API listens on 8080.", "The API listens on 9000."),)),
    Commit(
        "A booking is opened",
        replace=(
            ("src/ferry/bookings.py", "create_booking", "open_booking"),
            ("tests/factories.py", "create_booking", "open_booking"),
        ),
    ),
    Commit("Python 3.12", replace=(("pyproject.toml", ">=3.11", ">=3.12"),)),
    Commit(
        "Mail servers are slow in the morning", replace=(("src/ferry/worker.py", "MAX_RETRIES = 3", "MAX_RETRIES = 5"),)
    ),
    Commit("Round as the bank does", replace=(("src/ferry/pricing.py", "int(amount + 0.5)", "round(amount)"),)),
    Commit("Wording", replace=(("README.md", "Sells tickets.", "Sells tickets for ferries."),)),
    Commit("Browser tests have a speaking name", replace=(("web/package.json", '"e2e"', '"test:browser"'),)),
    Commit(
        "Amounts are decimals",
        replace=(
            ("src/ferry/pricing.py", "in cents", "in euros"),
            (
                "src/ferry/pricing.py",
                '{"north": 1250, "south": 990}',
                '{"north": Decimal("12.50"), "south": Decimal("9.90")}',
            ),
            ("src/ferry/pricing.py", "FARES = ", "from decimal import Decimal\n\nFARES = "),
            ("src/ferry/pricing.py", "return round(amount)", "return round(amount, 2)"),
        ),
    ),
    Commit(
        "connect() says what it needs",
        replace=(
            ("src/ferry/db.py", "def connect():\n", 'def connect():\n    """Needs the address of the database."""\n'),
        ),
    ),
    # The third.
    Commit(
        ".env.example says what is what",
        replace=((".env.example", "FERRY_DATABASE_URL=", "# Where the bookings are\nFERRY_DATABASE_URL="),),
    ),
    Commit("React 19", replace=(("web/package.json", "^18.2.0", "^19.0.0"),)),
    Commit("CLAUDE.md: the port", replace=(("CLAUDE.md", "`port = 8080`", "`port = 9000`"),)),
    Commit(
        "A canceled booking costs a tenth",
        replace=(("src/ferry/bookings.py", "return self.paid\n", "return self.paid * 9 / 10\n"),),
    ),
    Commit("Templates stand beside what sends them", move={"src/ferry/templates": "src/ferry/notify/templates"}),
    Commit("The cart is empty at first", replace=(("web/src/cart.ts", "lines: string[]", "lines: string[] = []"),)),
    Commit("One workflow", move={".github/workflows/tests.yml": ".github/workflows/ci.yml"}),
    Commit(
        "One name for the level of the log",
        replace=(
            (".env.example", "FERRY_LOG_LEVEL", "FERRY_LOGGING"),
            ("src/ferry/log.py", "FERRY_LOG_LEVEL", "FERRY_LOGGING"),
        ),
    ),
    # The fourth.
    Commit("A second migration", write={"migrations/0002_names.sql": "alter table booking add name text;\n"}),
    Commit("PostgreSQL 16", replace=(("docker-compose.yml", "postgres:15", "postgres:16"),)),
    Commit(
        "Backups are written in Python",
        write={"scripts/backup.py": "import subprocess\n\nsubprocess.run(['pg_dump', 'ferry'])\n"},
        remove=("scripts/backup.sh",),
    ),
    Commit(
        "Starlette serves requests",
        replace=(
            ("pyproject.toml", "flask>=3", "starlette>=0.40"),
            (
                "src/ferry/app.py",
                "from flask import Flask\n\napp = Flask('ferry')",
                "from starlette.applications import Starlette\n\napp = Starlette()",
            ),
        ),
    ),
    Commit(
        "Tests build what they need",
        move={"tests/factories.py": "tests/builders.py"},
        replace=(("tests/test_prices.py", "tests.factories", "tests.builders"),),
    ),
    Commit("Two workers fewer", replace=(("config/service.toml", "workers = 4", "workers = 2"),)),
    Commit(
        "The broker is named",
        replace=(
            (".env.example", "FERRY_QUEUE_URL", "FERRY_BROKER_URL"),
            ("src/ferry/queue.py", "FERRY_QUEUE_URL", "FERRY_BROKER_URL"),
        ),
    ),
    Commit("1.1", replace=(("pyproject.toml", 'version = "1.0"', 'version = "1.1"'),)),
    # The fifth.
)
