"""The folder of signing keys: a folder for each store, under the store's id, and which store was seen at each place.

A user who can replace a database file can replace everything beside it, so nothing that a store is checked against lies
there. The id of a store is random, and every signed head names it. Another id at a known place is another store.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.records.canonical import digest_of
from readmit.records.error_types import StoreError, TamperedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_BY_OTHERS = 0o022
_SAY = "set READMIT_KEYS to a folder for signing keys that you can write"
# An id, and a path of the longest kind.
_LARGEST = 8_192


class KeyFolder:
    """Keys and pins of one user's stores. Keeps a small file for each place at which a store was seen."""

    def __init__(self, path: Path) -> None:
        # Absolute: keys are read for every new signer, and the process may have changed its folder since.
        self.path = path.absolute()
        self._places = self.path / "places"

    @classmethod
    def chosen(cls, named: str | Path | None) -> KeyFolder:
        """The folder that is named, or ``READMIT_KEYS``, or the one in the user's configuration folder."""
        if named is not None and not (above := Path(named).absolute().parent).is_dir():
            raise StoreError(f"keys: the folder {above} does not exist; make it with `mkdir -p {above}`")
        if given := named or os.environ.get("READMIT_KEYS", ""):
            return cls(Path(given))
        from platformdirs import user_config_path

        config = user_config_path("readmit")
        if not config.is_absolute():  # neither HOME nor an entry of the user
            raise StoreError(f"keys: there is no home folder; {_SAY}")
        return cls(config / "keys")

    def of(self, store: str) -> Path:
        """The folder of a store's keys and pins."""
        return self.path / store

    def make(self) -> None:
        """Make the folder, for its owner alone; refuse one that others can write."""
        _make(self._places)
        self._check()

    def known(self, places: Sequence[str]) -> dict[str, str]:
        """The ids of the stores that were seen at these places."""
        if not self._check():
            return {}
        return {place: store for place in places if (store := self._read(place)) is not None}

    def check(self, places: Sequence[str], store: str, shown: str) -> None:
        """Refuse a store if another one was seen at one of its places. ``shown`` is its address in the error."""
        for place, known in self.known(places).items():
            if known != store:
                raise TamperedError(
                    f"{place} is another store than before: {known} was seen there, and this one is {store}. Put the "
                    f"right one back; only if you replaced it yourself, run `{_accept(shown)}`"
                )

    def check_gone(self, noted: Mapping[str, str], shown: str) -> None:
        """Refuse to start a store where another one was noted, which is gone."""
        for place, known in noted.items():
            raise TamperedError(
                f"{place} is gone: store {known} was seen there. Put it back, or restore a backup with `readmit "
                f"restore`; to start a new store in its place, run `{_accept(shown)}`"
            )

    def learn(self, places: Sequence[str], store: str, shown: str) -> None:
        """Check a store, make the folder of its keys, and remember it at its places."""
        self.check(places, store, shown)
        _make(self.of(store))
        known = self.known(places)
        for place in places:
            if place not in known:
                self._write(place, store)
        self.check(places, store, shown)  # another process may have been faster

    def accept(self, places: Sequence[str], store: str | None) -> None:
        """Remember a store at its places whatever was seen there, or that there is none."""
        self.make()
        for place in places:
            self._file(place).unlink(missing_ok=True)
            if store is not None:
                self._write(place, store)

    def _check(self) -> bool:
        """Whether the folder is there. One that cannot be looked at may know better, so it is refused."""
        for folder in (self.path, self._places):
            try:
                require_own(folder, folder.stat())
            except FileNotFoundError:
                return False
            except OSError as error:
                raise StoreError(f"keys: cannot read {folder}: {error.strerror}; {_SAY}") from error
        return True

    def _file(self, place: str) -> Path:
        return self._places / digest_of(os.fsencode(place))[:32]

    def _read(self, place: str) -> str | None:
        from readmit.log.engines.sqlite_schema import ID  # imports sqlite3, which not every program needs

        path = self._file(place)
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"keys: cannot read {path}: {error.strerror}; see that it is your own file") from error
        try:
            found = os.fstat(file)
            require_own(path, found)
            store, _, said = os.read(file, _LARGEST).partition(b"\n")
        finally:
            os.close(file)
        if not stat.S_ISREG(found.st_mode) or not ID.fullmatch(store.decode("ascii", "replace")):
            raise StoreError(f"keys: {path} is damaged; restore it from a backup of the keys, or remove it")
        if said != os.fsencode(place) + b"\n":
            raise StoreError(f"keys: {path} is of another place than {place}; restore it from a backup of the keys")
        return store.decode("ascii")

    def _write(self, place: str, store: str) -> None:
        path = self._file(place)
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(part, flags, FILE_MODE), "wb") as out:
                out.write(store.encode() + b"\n" + os.fsencode(place) + b"\n")
                out.flush()
                os.fsync(out.fileno())
            with suppress(FileExistsError):
                os.link(part, path)  # unlike a renaming, this replaces nothing
            part.unlink()
            _flush(self._places)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise StoreError(
                f"keys: cannot remember in {self.path} which store is at {place}: {error.strerror}; {_SAY}"
            ) from error


def places_of(file: str | Path) -> tuple[str, ...]:
    """The places of a file: its path, and what links on it lead to. Who can replace a file can replace it by a link."""
    named = os.path.abspath(file)  # noqa: PTH100 - not resolved
    return tuple(dict.fromkeys((named, os.path.realpath(file))))


def _make(folder: Path) -> None:
    try:
        for one in reversed((folder, *folder.parents)):
            if not one.exists():
                one.mkdir(mode=FOLDER_MODE, exist_ok=True)
                _flush(one.parent)
    except OSError as error:
        raise StoreError(f"keys: cannot make {folder}: {error.strerror}; {_SAY}") from error


def _flush(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def require_own(path: Path, found: os.stat_result) -> None:
    """Refuse a file or folder of another user, and one that others can write."""
    if found.st_uid not in {0, os.geteuid()}:
        raise StoreError(
            f"keys: {path} belongs to user {found.st_uid}, not to you; run: "
            f"chown {os.geteuid()} {shlex.quote(str(path))}"
        )
    if stat.S_IMODE(found.st_mode) & _BY_OTHERS:
        raise StoreError(f"keys: other users can write {path}; run: chmod go-w {shlex.quote(str(path))}")


def _accept(shown: str) -> str:
    return f"readmit keys accept --db {shlex.quote(shown)}"
