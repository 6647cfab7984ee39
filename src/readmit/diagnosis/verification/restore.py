"""Restores a backup, and reports the loss: events of the present store, and exposures since."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from readmit.log.backup import LogEnds, compare, put_back, store_of
from readmit.log.key_folder import KeyFolder, places_of
from readmit.log.location import is_url, shown
from readmit.records.error_types import StoreError
from readmit.writing.workspace_keys import mark_of, pin_of


class Lacking(NamedTuple):
    """The loss of one workspace in a restore."""

    workspace: str
    epoch: int
    """The last epoch of its log in the backup."""
    present: int | None
    """The last epoch in the store that was replaced. None if there was none, or it could not be read."""
    is_same_log: bool
    """Whether the backup and that store have one history."""
    handed_over: int
    """The epoch of the last exposure, as the mark with the keys remembers it."""
    commits: int
    """How many commits it lacks of those that the pin with the keys has seen."""

    @property
    def events(self) -> int:
        """How many events are known to be missing."""
        return max(self.present or 0, self.handed_over, self.epoch) - self.epoch


class Restored(NamedTuple):
    """The result of a restore: the loss of each workspace, and the name under which the replaced store is kept."""

    lacking: tuple[Lacking, ...]
    aside: Path | None
    keys: Path
    """The folder that the keys of the restored store belong in."""
    has_keys: bool


def restore(backup: Path, place: str, *, replace: bool = False, accept_loss: bool = False) -> Restored:
    """Put a backup in a store's place.

    ``replace`` consents to take the present store away; it is renamed. ``accept_loss`` consents to hand views over
    again although the backup does not know which were handed over after it was made, and to another store than the one
    that was seen at this place.
    """
    if is_url(place):
        raise StoreError(
            "a store on a server is restored with the server's tools; run: "
            f"pg_restore --dbname={shown(place)} {backup}. "
            "To accept that it lacks what was written since, remove the .mark and .head files in the folder of its keys"
        )
    file = Path(place)
    folder, places, store = KeyFolder.chosen(None), places_of(file), store_of(backup)
    keys = folder.of(store)
    if not accept_loss and (others := {*folder.known(places).values()} - {store}):
        raise StoreError(
            f"{backup} is a backup of store {store}, and {', '.join(sorted(others))} was seen at {file}; if it shall "
            "take its place, give --accept-loss"
        )
    lacking = tuple(_lacking(ends, keys) for ends in compare(backup, file))
    if file.exists() and file.samefile(backup):
        raise StoreError(f"{backup} is the store itself; name a backup of it")
    losses = "; ".join(_told(one) for one in lacking if one.events or one.commits or not one.is_same_log)
    if losses and not file.exists() and not accept_loss:
        raise StoreError(
            f"{backup} is not the newest state that was seen here ({losses}); give --accept-loss to use it"
        )
    if file.exists() and not replace:
        raise StoreError(
            f"{file} exists, and a restore would take it away ({losses or 'the backup has all its events'}); "
            "to do that and keep it under another name, give --replace"
        )
    aside = put_back(backup, file)
    for one in lacking if keys.is_dir() else ():
        # The operator says that this is the log now; its next head is pinned again when it is first read.
        pin_of(keys, one.workspace).forget(keys=accept_loss)
        if accept_loss:
            mark_of(keys, one.workspace).lower_to(one.epoch)
    if accept_loss:
        folder.accept(places, store)
    return Restored(lacking, aside, keys, any(keys.glob("*.pem")))


def _lacking(ends: LogEnds, keys: Path) -> Lacking:
    mark = mark_of(keys, ends.workspace).read() if keys.is_dir() else 0
    pinned = pin_of(keys, ends.workspace).head() if keys.is_dir() else None
    lost = 0 if pinned is None else max(pinned.size - ends.commits, 0)
    return Lacking(ends.workspace, ends.copied, ends.present, ends.is_same_log, mark, lost)


def _told(one: Lacking) -> str:
    if not one.is_same_log:
        return f"{one.workspace!r} has another history in the backup"
    if not one.events:
        return f"{one.workspace!r} lacks {one.commits} commits in the backup"
    return f"{one.workspace!r} ends at epoch {one.epoch} in the backup, so it lacks at least {one.events} events"
