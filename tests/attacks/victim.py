"""A small, busy store to tamper with, what a user does with it, and how that ended.

Whoever tampers has the database file and this library, and not the folder of keys, where the pins are too.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing, contextmanager
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from cryptography.hazmat.primitives.asymmetric import ed25519

from readmit import Answer, Pair, Policy, Return, Verdict, Workspace
from readmit.diagnosis.verification.audit_check import audit
from readmit.errors import ReadmitError
from readmit.lab import canonical
from readmit.log.key_folder import KeyFolder, places_of
from readmit.memory import Memory
from tests.keys import id_of
from tests.scene import START, Clock, untriggered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from readmit import Identity

NAME = "team.db"
KEYS = "keys"
DERIVED = "0" * 64
OPENED = START + timedelta(hours=2, minutes=1)
"""When a copy is looked at."""


class Issued(NamedTuple):
    """A view that was issued, and what its workload knows."""

    id: str
    identity: Identity
    secret: str


class Victim(NamedTuple):
    """A closed store in a folder of its own, and in another its keys, which know where it is."""

    folder: Path
    issued: Issued
    """Admitted, and not exposed yet."""
    consumed: Issued
    """Exposed to an agent that has written since."""
    store: str
    """The id of the store."""

    @property
    def file(self) -> Path:
        return self.folder / NAME

    @property
    def keys(self) -> Path:
        return self.folder / KEYS

    def copied(self, folder: Path) -> Victim:
        """The same store elsewhere, with the same keys and pins, which have seen it there."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(self.file, folder)
        shutil.copytree(self.keys, folder / KEYS)
        one = self._replace(folder=folder)
        KeyFolder(one.keys).accept(places_of(one.file), self.store)
        return one

    def open(self) -> Workspace:
        clock = Clock()
        clock.now = OPENED
        return Workspace.open(self.file, clock=clock, keys=self.keys)


class Seen(NamedTuple):
    """What came of one act of a user: what was handed over or decided, or the sentence that refused it."""

    result: str = ""
    refusal: str = ""
    crash: str = ""
    """An error without a name of ours."""


def build(folder: Path) -> Victim:
    """Bob keeps the state; ann is away, cal holds a view that was not handed over, dee has read hers and gone on."""
    folder.mkdir(parents=True)
    clock = Clock()
    rules = Policy(
        evidence={"overseers": ("boss",), "writers": ("bob", "cal", "dee", "ann")}, returns={"fill": "never"}
    )
    opening = partial(Workspace.open, folder / NAME, policy=rules, clock=clock, keys=folder / KEYS)
    with _fixed_keys(), _fixed_names(), opening() as team:
        first = team.observe("The hotel Sunrise confirms two nights.", by="bob", id="e0")
        other = team.observe("The train leaves at nine.", by="bob", id="e1")
        team.oblige("Book a hotel.", id="duty", by="bob", required=["bed"], critical=["bed"])
        team.oblige("Book a train.", id="ride", by="bob", required=["train"])
        team.record("Sunrise is booked.", id="h0", by="bob", slot="hotel", supports=["bed"], sources=[first])
        team.record("The train is booked.", id="t0", by="bob", slot="train", sources=[other])
        team.record("Seat 12 is ours.", id="s0", by="bob", supports=["seat"], sources=[other])
        team.record("Breakfast is included.", id="b0", by="bob", depends_on=["h0"], sources=[first])
        team.progress("Two beds are open.", id="f0", obligation="duty", by="bob", sources=[first])
        team.record("It stays dry.", id="w0", by="bob", supports=["dry"], sources=[first])
        memory = Memory.open(team, "scopedmem")
        memory.form("We sleep at the Sunrise.", by="bob", sources=["h0"])
        memory.form("The train leaves at nine.", by="bob", sources=["t0"])
        memory.form("The train at nine has our seat.", by="bob", evidence=[other])
        team._desk.log.derived.write("premises", "model/1", {DERIVED: b'["Sunrise is open."]'})
        ann, cal, dee = (team.agent(name, role="planner", task="trip") for name in ("ann", "cal", "dee"))
        ann.remember("Ask for a late check-in.", bound_to="h0", id="x0")
        for one in (ann, cal, dee):
            one.depart(id=f"left-{one.identity.principal}")
        clock.now += timedelta(hours=1)
        team.as_owner().admin.keys.rotate()
        change = team.observe("Sunrise cancels; Riverside confirms.", by="bob", id="e3")
        team.record("Riverside is booked.", id="h1", by="bob", slot="hotel", supports=["bed"], sources=[change])
        team.record("Riverside has a pool.", id="p0", by="bob", supports=["pool"], sources=[change])
        team.record("The pool is open.", id="p1", by="bob", supports=["pool"], sources=[change])
        team.dispute(["p1"], by="bob", id="d0", reason="nobody saw it")
        rain = team.observe("It rains all week.", by="bob", id="e4")
        said: dict[str, Any] = {"confidence": Decimal(1), "item_quote": "dry", "evidence_quote": "rains"}
        pair = Pair(item="w0", evidence=rain)
        team.judge(Verdict(pair=pair, answer=Answer.INVALIDATES, **said), by="bob", id="j0")
        back = ann.come_back(id="return-ann")
        back.expose()
        back.acknowledge()
        ann.depart(id="left-again")
        clock.now += timedelta(hours=1)
        team.as_owner().admin.govern(rules.changed(evidence={"overseers": ("boss", "cat")}))
        team.revoke("s0", by="bob", reason="the seat is taken")
        read = dee.come_back(id="return-dee")
        read.expose()
        team.observe("Dee goes on.", by="dee", id="e2")
        issued = cal.come_back(id="return-cal")
        assert issued.admitted, issued.decision
        team.revoke("p0", by="bob", reason="the pool is shut")
    return Victim(
        folder,
        Issued(issued.id, issued.request.identity, issued.secret),
        Issued(read.id, read.request.identity, read.secret),
        id_of(folder / NAME),
    )


@contextmanager
def fixed_salts() -> Iterator[None]:
    """The same salts in every run: which chunk of a map holds a key depends on them, and so does what an edit meets."""
    drawn = random.Random(0).randbytes
    with mock.patch("secrets.token_bytes", drawn), mock.patch("readmit.records.canonical._salts", []):
        yield


def _fixed_names() -> AbstractContextManager[object]:
    """The same random names in every run, so that two runs can be compared byte by byte."""
    numbers = count(1)
    return mock.patch("secrets.token_hex", lambda size: f"{next(numbers):0{2 * size}x}")


def _fixed_keys() -> AbstractContextManager[object]:
    made = (ed25519.Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in count(1))
    return mock.patch.object(ed25519.Ed25519PrivateKey, "generate", side_effect=made)


# What a user does.


def come_back(victim: Victim) -> str:
    """Ann returns and gets her view."""
    with victim.open() as team:
        back = _returned(team)
        return "\n".join([*map(str, back.dispositions), canonical(back.decision).decode(), back.expose().markdown()])


def search(victim: Victim) -> str:
    """Ann returns, reads the memories that her view admits, and searches them."""
    with victim.open() as team:
        handle = Memory.open(team, "scopedmem").returned(_returned(team).expose())
        return "\n".join(sorted(hit.text for hit in (*handle.records(), *handle.search("Sunrise Riverside train"))))


def prepare(victim: Victim) -> str:
    """A text that a model derived is read again."""
    with victim.open() as team:
        return "\n".join(map(bytes.decode, team._desk.log.derived.read("premises", "model/1", [DERIVED]).values()))


def _returned(team: Workspace) -> Return:
    back = team.agent("ann", role="planner", task="trip").come_back(id="again")
    if not back.admitted:
        raise BlockedError(f"blocked: {', '.join(back.reasons)}; {back.decision.note}")
    return back


def expose(victim: Victim) -> str:
    """Cal asks for the view that was issued."""
    with victim.open() as team:
        name, identity, secret = victim.issued
        return team._desk.expose(name, identity, secret).markdown()


def expose_again(victim: Victim) -> str:
    """Dee asks for her view again, although she has gone on."""
    with victim.open() as team:
        name, identity, secret = victim.consumed
        return team._desk.expose(name, identity, secret).markdown()


def replay(victim: Victim) -> str:
    """An operator recomputes what was decided."""
    said = []
    with victim.open() as team:
        for name in ("return-dee", "return-ann", "return-cal"):
            again = team.returned(name).replay()
            if not again.matches:
                raise BlockedError(f"the replay of {name} differs: {again}")
            said.append(canonical(team.returned(name).decision).decode())
    return "\n".join(said)


def verify(victim: Victim) -> str:
    """An operator checks everything."""
    with victim.open() as team:
        log = team._desk.log
        # Building every index anew takes longer, and is only needed for what the rest does not find.
        if problems := audit(log).problems or audit(log, full=True).problems:
            raise BlockedError("; ".join(problems))
    return ""


class BlockedError(ReadmitError):
    """Nothing was handed over, and the decision says why."""


ACTS: dict[str, Callable[[Victim], str]] = {
    "return": come_back,
    "expose": expose,
    "expose again": expose_again,
    "search": search,
    "prepare": prepare,
    "replay": replay,
    "verify": verify,
}


def attempt(victim: Victim, act: str) -> Seen:
    """Do it, on this very copy."""
    try:
        with _fixed_names():
            return Seen(result=ACTS[act](victim))
    except ReadmitError as error:
        return Seen(refusal=f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - what it is will be reported
        return Seen(crash=repr(error))


# What an attacker does.


@contextmanager
def tampered(victim: Victim) -> Iterator[sqlite3.Connection]:
    """The file in an editor."""
    with closing(sqlite3.connect(victim.file, isolation_level=None)) as sql, untriggered(sql):
        yield sql


def rows_of(victim: Victim) -> dict[str, list[Any]]:
    """Everything that a file holds."""
    with closing(sqlite3.connect(victim.file)) as sql:
        found = {name: sql.execute(f"SELECT * FROM {name}").fetchall() for name in tables(sql)}  # noqa: S608
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def tables(sql: sqlite3.Connection) -> dict[str, list[str]]:
    """Every table with its columns."""
    names = sql.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    return {
        name: [column[1] for column in sql.execute(f"PRAGMA table_info({name})")]
        for (name,) in names
        if not name.startswith("sqlite_")
    }
