"""The address of a store on a PostgreSQL server, or on several of which one takes writes."""

from __future__ import annotations

import os
import re
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from readmit.log.engines.postgres_client import Client, Unanswered, rows_of, session_settings
from readmit.log.location import FORM, shown
from readmit.records.error_types import StoreError

CONNECT_SECONDS = 10
_PORT = "5432"
_HOSTS = ("host", "hostaddr", "port")
DEFAULT_SCHEMA = "readmit"
# Parameters of the URL that are not libpq's.
_OURS = ("schema=", "clock=")
_PROCESS = "SELECT pg_backend_pid()"
_LOOKS = 5
"""How often two sessions are compared: others use the pooler meanwhile."""
_POOLER_SECONDS = 3
_SCHEMA = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


class Address:
    """A parsed store URL. Never shows its password."""

    def __init__(self, url: str) -> None:
        self.shown = shown(url)
        scheme, separator, rest = url.partition("://")
        # A scheme is the same in capitals, which libpq does not know.
        base, _, query = f"{scheme.lower()}{separator}{rest}".partition("?")
        parameters = [one for one in query.split("&") if one]
        ours = dict(one.split("=", 1) for one in parameters if one.startswith(_OURS))
        self.schema = ours.get("schema", DEFAULT_SCHEMA)
        self.simulated = ours.get("clock") == "simulated"
        """Whether the workspaces live in simulated time, which is not compared with the server's clock."""
        if not self.simulated and "clock" in ours:
            raise StoreError(f"cannot open {self.shown}: clock: write clock=simulated, or leave it out")
        if not _SCHEMA.fullmatch(self.schema):
            raise StoreError(
                f"cannot open {self.shown}: schema: this is not a name for one; use lower-case letters, digits and _"
            )
        theirs = "&".join(one for one in parameters if not one.startswith(_OURS))
        try:
            given: dict[str, Any] = conninfo_to_dict(f"{base}?{theirs}" if theirs else base)
            given.setdefault("connect_timeout", CONNECT_SECONDS)
            # As the library does for each that the URL leaves out.
            named = {name: str(given.get(name) or os.environ.get(f"PG{name.upper()}", "")) for name in _HOSTS}
            self._hosts, self._ports = named["host"] or named["hostaddr"], named["port"]
            if "," in self._hosts:
                # The one of several servers that takes writes. The others follow it.
                given.setdefault("target_session_attrs", os.environ.get("PGTARGETSESSIONATTRS", "read-write"))
            self._is_session = False
            self.user, self.database = str(given.get("user") or ""), str(given.get("dbname") or "")
            self._conninfo = make_conninfo(**given, fallback_application_name="readmit", client_encoding="utf-8")
        except (psycopg.Error, UnicodeError):
            # The library's own message may quote any part of the URL.
            raise StoreError(f"cannot open {self.shown}: this is not an address of PostgreSQL; {FORM}") from None

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def places(self, client: Client) -> tuple[str, ...]:
        """The addresses of the store, alike for every user: one for each host that is named, since a server names none.

        Whichever of them is the primary, the store is the same. A host that is added to a URL, or leaves it, makes no
        place forget what was seen there.
        """
        hosts, ports = (self._hosts or client.info.host).split(","), (self._ports or str(client.info.port)).split(",")
        ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
        return tuple(
            f"postgresql://{_plain(host)}:{port or _PORT}/{client.info.dbname}?schema={self.schema}"
            for host, port in zip(hosts, ports, strict=True)
        )

    def connect(self) -> Client:
        """A new connection, with its limits set."""
        try:
            client = Client.connect(self._conninfo, autocommit=True, row_factory=rows_of)
        except (psycopg.Error, UnicodeError) as error:
            said = " ".join(str(error).split())
            raise StoreError(f"cannot open {self.shown}: {said}; {_remedy(said, self)}") from None
        try:
            answers = client.execute(session_settings(self.schema), prepare=False)
            while answers.nextset():
                pass
            process = answers.fetchone()
            encoding = client.info.parameter_status("server_encoding")
        except psycopg.Error as error:
            client.close()
            raise StoreError(f"cannot open {self.shown}: {' '.join(str(error).split())}") from None
        if encoding != "UTF8":
            client.close()
            raise StoreError(
                f"cannot open {self.shown}: the database is encoded in {encoding}; "
                f"make one that can hold every text: createdb --encoding UTF8 --template template0 NAME"
            )
        if process != (client.pgconn.backend_pid,) and not self._is_session:
            try:
                self._check_pooler(client)
            except BaseException:
                client.close()
                raise
        return client

    def _check_pooler(self, client: Client) -> None:
        """Refuse a pooler that gives the server's end of a session to others. Called where one is in between.

        A second session shows it: it is given the process that served the first one, or that one is given another. If
        it is given none at all, the first one keeps its own.
        """
        second: Client | None = None
        try:
            second = Client.connect(self._conninfo, autocommit=True, row_factory=rows_of)
            second.patience = _POOLER_SECONDS
            if self._is_lent(client, second):
                raise self._pooled()
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            if "pooling mode" in said:  # where each statement is given to another process, nothing begins
                raise self._pooled() from None
            if not isinstance(error, Unanswered) and "query_wait_timeout" not in said:
                raise StoreError(f"cannot open {self.shown}: {said}") from None
        finally:
            if second is not None:
                second.close()
        self._is_session = True

    def _is_lent(self, first: Client, second: Client) -> bool:
        for _ in range(_LOOKS):
            before = first.execute(_PROCESS, prepare=False).fetchone()
            second.execute("BEGIN", prepare=False)
            found = second.execute(_PROCESS, prepare=False).fetchone()
            if found == before or before != first.execute(_PROCESS, prepare=False).fetchone():
                return True
            second.execute("ROLLBACK", prepare=False)
        return False

    def _pooled(self) -> StoreError:
        return StoreError(
            f"cannot open {self.shown}: a pooler gives the server's sessions to others between transactions, with the "
            "locks and limits in them; set pool_mode=session for this database, or name the server itself"
        )


def _plain(host: str) -> str:
    """A name is the same in capitals; the folder of a socket is not."""
    return host if host.startswith("/") else host.lower()


def _remedy(said: str, address: Address) -> str:
    if "password" in said or "authentication" in said or "pg_hba" in said:
        return "check the user and the password in the URL, or keep the password in ~/.pgpass"
    if "database" in said and "does not exist" in said:
        return f"make it: createdb {address.database}"
    if "role" in said and "does not exist" in said:
        return f"make it: createuser {address.user}"
    return "check the host and the port in the URL, and that the server runs"
