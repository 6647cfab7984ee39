"""Keys of the tests: those of writers, and where those of a store lie."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from readmit.log.engines.sqlite_schema import store_id
from readmit.log.key_folder import KeyFolder
from readmit.trust.private_keys import KeyRing, LocalSigner

if TYPE_CHECKING:
    from pathlib import Path


def new_signer() -> LocalSigner:
    """A key of a writer, made now."""
    return LocalSigner.generated()[0]


def public_keys(ring: KeyRing) -> dict[str, bytes]:
    """Key id → raw public key of every key held."""
    return {keyid: ring.load(keyid).public for keyid in ring.keyids()}


def id_of(file: Path | str) -> str:
    """The id of the store in a file."""
    with closing(sqlite3.connect(file)) as sql:
        return store_id(sql)


def keys_of(file: Path | str, folder: Path | None = None) -> Path:
    """The folder of the keys and pins of the store in a file: in the configuration folder, or in the one named."""
    return KeyFolder.chosen(folder).of(id_of(file))
