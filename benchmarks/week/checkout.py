"""The repository of the week as it is at first: a booking service with a web shop, and its memory files."""

from __future__ import annotations

CLAUDE = """\
# Ferry

Booking service of a ferry line.

## Layout

- Prices are computed in `src/ferry/prices.py`.
- Bookings are opened with `create_booking()`.
- `src/ferry/worker.py` does what may wait.
- The old importer is in `src/ferry/legacy/`.
- The web shop is in `web/`.
- It is built with React 18.
- Timetables are fetched by `fetchTimetable()` in `web/src/api.ts`.
- Migrations are plain SQL files in `migrations/`.
- All access to the database goes through `src/ferry/db.py`.

## Commands

- Run the tests with `make test`.
- Check the style with `make lint`.
- Start the server with `make serve`.
- Fill a database with `ferry seed --small`.
- `npm run e2e` in `web/` runs the tests in a browser.
- Back up with `scripts/backup.sh`.
- Release with `make ship`.

## Facts

- The server has `port = 8080` in `config/service.toml`.
- Needs Python 3.11.
- The database is PostgreSQL 15.
- The worker gives up at `MAX_RETRIES = 3`.
- `FERRY_DATABASE_URL` names the database.
- Requests are served by Flask.
- CI is `.github/workflows/tests.yml`.
- `round_amount()` rounds half up.
- `Booking.cancel()` pays back everything.

## Agreements

- Amounts are integers in cents.
- Deploys happen on Fridays.
- Releases are cut from `main`.
- Commit messages are in English.
- A migration that was applied is never edited.
- Every bug fix comes with a test.
"""

AGENTS = """\
# Working on ferry

- Install it with `pip install -e .`.
- `make test` needs a database: `docker compose up db`.
- The API listens on 8080.
- A price is `ferry.prices.price_of(booking)`.
- Mail is sent by `ferry.mail.send_confirmation()`.
- Retries are set in `src/ferry/worker.py`.
- `ferry report` prints the bookings of a day.
- Tests in a browser: `npm run e2e`.
- `FERRY_LOG_LEVEL` sets how much is logged.
- Lines have at most 100 characters.
- Leave `src/ferry/legacy/` alone.
- We count money in cents.
- We deploy on Fridays.
- Feature branches end in a merge commit.
- Functions are short.
"""

RULES = """\
# Tests

- `tests/factories.py` makes bookings for tests.
- Tests of the database use SQLite in memory.
- A test never sleeps.
"""

MAKEFILE = """\
test:
\tpython -m pytest

lint:
\tpython -m flake8 src

serve:
\tferry serve

ship: test
\tgit push origin main
"""

BOOKINGS = '''\
"""Bookings of passengers."""


class Booking:
    def __init__(self, route, passengers=0):
        self.route = route
        self.passengers = passengers
        self.paid = 0

    def add_passenger(self):
        self.passengers += 1

    def cancel(self):
        """What is paid back."""
        return self.paid


def create_booking(route):
    return Booking(route)
'''

PRICES = '''\
"""Prices of bookings, in cents."""

FARES = {"north": 1250, "south": 990}


def price_of(booking):
    return round_amount(FARES[booking.route] * booking.passengers)


def round_amount(amount):
    return int(amount + 0.5)
'''

CLI = '''\
"""The command line of ferry."""

import argparse

from ferry.prices import price_of


def main():
    parser = argparse.ArgumentParser(prog="ferry")
    commands = parser.add_subparsers(dest="command")
    serve = commands.add_parser("serve")
    serve.add_argument("--host", default="127.0.0.1")
    seed = commands.add_parser("seed")
    seed.add_argument("--small", action="store_true")
    commands.add_parser("report")
    return parser.parse_args(), price_of
'''

FILES = {
    "CLAUDE.md": CLAUDE,
    "AGENTS.md": AGENTS,
    ".claude/rules/tests.md": RULES,
    "README.md": "# ferry\n\nSells tickets.\n",
    "Makefile": MAKEFILE,
    "pyproject.toml": '[project]\nname = "ferry"\nversion = "1.0"\nrequires-python = ">=3.11"\n'
    'dependencies = ["flask>=3", "sqlalchemy>=2"]\n\n[project.scripts]\nferry = "ferry.cli:main"\n\n'
    "[tool.flake8]\nmax-line-length = 100\n",
    "config/service.toml": "port = 8080\nworkers = 4\n",
    ".env.example": "FERRY_DATABASE_URL=\nFERRY_LOG_LEVEL=info\nFERRY_QUEUE_URL=\n",
    ".github/workflows/tests.yml": "on: push\njobs:\n  test:\n    steps:\n      - run: make test\n",
    "docker-compose.yml": "services:\n  db:\n    image: postgres:15\n  queue:\n    image: redis:7\n",
    "migrations/0001_start.sql": "create table booking (id integer primary key);\n",
    "scripts/backup.sh": "#!/bin/sh\npg_dump ferry\n",
    "docs/deploy.md": "# Deploying\n\nPush, and wait.\n",
    "src/ferry/__init__.py": "",
    "src/ferry/app.py": "from flask import Flask\n\napp = Flask('ferry')\n",
    "src/ferry/bookings.py": BOOKINGS,
    "src/ferry/prices.py": PRICES,
    "src/ferry/cli.py": CLI,
    "src/ferry/db.py": 'import os\n\n\ndef connect():\n    return os.environ["FERRY_DATABASE_URL"]\n',
    "src/ferry/log.py": 'import os\n\nLEVEL = os.environ.get("FERRY_LOG_LEVEL", "info")\n',
    "src/ferry/mail.py": "def send_confirmation(booking):\n    return f'Booked: {booking.route}'\n",
    "src/ferry/queue.py": 'import os\n\nURL = os.environ.get("FERRY_QUEUE_URL", "")\n',
    "src/ferry/worker.py": "from ferry.mail import send_confirmation\n\nMAX_RETRIES = 3\n\n\n"
    "def work(jobs):\n    return [send_confirmation(job) for job in jobs]\n",
    "src/ferry/legacy/__init__.py": "",
    "src/ferry/legacy/import_csv.py": "def import_csv(path):\n    return path\n",
    "src/ferry/templates/confirmed.txt": "Your booking is confirmed.\n",
    "tests/factories.py": "from ferry.bookings import create_booking\n\n\n"
    "def a_booking():\n    return create_booking('north')\n",
    "tests/test_prices.py": "from tests.factories import a_booking\n\n\n"
    "def test_nobody_pays_nothing():\n    assert a_booking().passengers == 0\n",
    "web/package.json": '{\n  "name": "shop",\n  "scripts": {\n    "dev": "vite",\n    "e2e": "playwright test"\n  },\n'
    '  "dependencies": {\n    "react": "^18.2.0"\n  }\n}\n',
    "web/src/api.ts": "export async function fetchTimetable(route: string) {\n"
    "  return fetch(`/timetable/${route}`)\n}\n",
    "web/src/cart.ts": "export function renderCart(lines: string[]) {\n  return lines.join()\n}\n",
}
"""What the first commit holds."""
