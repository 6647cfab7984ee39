"""The five sessions of the week, and which remembered lines are true when: labels by hand, before anything was run."""

from __future__ import annotations

from typing import NamedTuple


class Session(NamedTuple):
    """A session of one agent: after how many commits, what the user says, what the agent does and notes."""

    client: str
    name: str
    """Sessions with the same name are one conversation: the later one resumes it."""
    commits: int
    prompts: tuple[str, ...]
    reads: tuple[str, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    """Commands, each with what it prints."""
    notes: tuple[str, ...] = ()
    """Lines that the agent adds to its own notes, where its client has a folder for them."""
    killed: bool = False


SESSIONS = (
    Session(
        "claude-code", "A", 6,
        ("Add discount codes to the prices.", "Keep commits small, please."),
        reads=("src/ferry/pricing.py", "src/ferry/bookings.py"),
        commands=(("make test", "1 passed in 0.02s"), ("ls src/ferry/templates", "confirmed.txt")),
        notes=(
            "Discounts are taken off in `price_of()`, before rounding.",
            "`tests/test_prices.py` has the tests of prices.",
            "Texts of mails are in `src/ferry/templates/`.",
            "The user wants small commits.",
        ),
    ),
    Session(
        "codex", "B", 14,
        (
            "We changed our mind about money: amounts are euros with two decimals from now on, not cents.",
            "Start with the fares.",
        ),
        reads=("src/ferry/pricing.py",),
        commands=(("grep -rn cents src", 'src/ferry/pricing.py:1:"""Prices of bookings, in cents."""'),),
        killed=True,
    ),
    Session(
        "claude-code", "A", 24,
        ("From now on we deploy on Thursdays. No more deploys on Fridays.", "Where is the queue configured?"),
        reads=("src/ferry/queue.py",),
        commands=(("grep -n QUEUE .env.example", "3:FERRY_QUEUE_URL="),),
        notes=("The address of the queue is in `FERRY_QUEUE_URL`.",),
    ),
    Session(
        "codex", "B", 32,
        ("Feature branches are squashed from now on; we do not want merge commits any more.",),
        reads=("src/ferry/log.py",),
        commands=(("git log --oneline -1", "0123abc One name for the level of the log"),),
    ),
    Session("claude-code", "C", 40, ("What do you know about this repository?",)),
)  # fmt: skip


class Line(NamedTuple):
    """A remembered line that becomes false: by a commit, or by what the user says in a session."""

    text: str
    commit: int = 0
    said: int = 0
    """The number of the session. Both count from one."""

    def is_stale(self, session: int) -> bool:
        """Whether it is false when a session begins."""
        return 0 < self.commit <= SESSIONS[session - 1].commits or 0 < self.said < session


BECOME_FALSE = (
    # CLAUDE.md
    Line("Prices are computed in `src/ferry/prices.py`.", 3),
    Line("Bookings are opened with `create_booking()`.", 17),
    Line("The old importer is in `src/ferry/legacy/`.", 6),
    Line("It is built with React 18.", 26),
    Line("Fill a database with `ferry seed --small`.", 12),
    Line("`npm run e2e` in `web/` runs the tests in a browser.", 22),
    Line("Back up with `scripts/backup.sh`.", 35),
    Line("Release with `make ship`.", 11),
    Line("The server has `port = 8080` in `config/service.toml`.", 8),
    Line("Needs Python 3.11.", 18),
    Line("The database is PostgreSQL 15.", 34),
    Line("The worker gives up at `MAX_RETRIES = 3`.", 19),
    Line("Requests are served by Flask.", 36),
    Line("CI is `.github/workflows/tests.yml`.", 31),
    Line("`round_amount()` rounds half up.", 20),
    Line("`Booking.cancel()` pays back everything.", 28),
    Line("Amounts are integers in cents.", said=2),
    Line("Deploys happen on Fridays.", said=3),
    # AGENTS.md
    Line("The API listens on 8080.", 8),
    Line("A price is `ferry.prices.price_of(booking)`.", 3),
    Line("Mail is sent by `ferry.mail.send_confirmation()`.", 14),
    Line("Tests in a browser: `npm run e2e`.", 22),
    Line("`FERRY_LOG_LEVEL` sets how much is logged.", 32),
    Line("Leave `src/ferry/legacy/` alone.", 6),
    Line("We count money in cents.", said=2),
    Line("We deploy on Fridays.", said=3),
    Line("Feature branches end in a merge commit.", said=4),
    # The rules on tests
    Line("`tests/factories.py` makes bookings for tests.", 37),
    # The agent's own notes
    Line("Texts of mails are in `src/ferry/templates/`.", 29),
    Line("The address of the queue is in `FERRY_QUEUE_URL`.", 39),
)  # fmt: skip
"""Every remembered line that is false at some time of the week. All others are true to its end."""
