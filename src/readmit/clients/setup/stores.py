"""The stores of all projects: which there are, and their deletion."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

from readmit.clients.project import data_folder, spool_folder
from readmit.log.location import accept_store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class KeptStore(NamedTuple):
    """The store of a project, and the bytes of its folder."""

    store: Path
    size: int


def kept_stores() -> tuple[KeptStore, ...]:
    """The stores of all projects."""
    folders = sorted((data_folder() / "projects").glob("*/store.db"))
    return tuple(KeptStore(one, sum(path.stat().st_size for path in one.parent.rglob("*"))) for one in folders)


def delete_stores(stores: Iterable[KeptStore]) -> None:
    """Delete projects with everything that was remembered about them, and the lines that wait to be taken in."""
    for one in stores:
        shutil.rmtree(one.store.parent)
        # Else the next store at this place would be refused as a stranger's.
        accept_store(one.store)
    shutil.rmtree(spool_folder(), ignore_errors=True)
