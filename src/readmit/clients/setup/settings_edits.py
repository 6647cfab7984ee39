"""Puts pieces into a client's settings and takes the same pieces out again, whatever else changed in between.

A settings file belongs to its user. An edit adds members and list elements, keeps comments, order and layout, and is
refused if the new text does not hold exactly the old values and the pieces. JSON is edited by ``json_spans``, TOML by
tomlkit.
"""

from __future__ import annotations

import copy
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.clients.setup import json_spans
from readmit.records.error_types import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LARGEST = 20_000_000
"""Most bytes of a settings file. Claude Code keeps its state in the same file as its MCP servers."""


class Piece(NamedTuple):
    """A value that readmit writes: a member at a path of keys, or a hook in the list at that path."""

    path: tuple[str, ...]
    value: Any
    is_hook: bool = False

    @property
    def command(self) -> str:
        """The command of a hook, by which it is found again although its user changed the rest."""
        return str(self.value["hooks"][0]["command"])


@dataclass(frozen=True)
class ClientSettings:
    """The text of a settings file. ``text`` is none if there is no file."""

    path: Path
    text: str | None

    @classmethod
    def read(cls, path: Path) -> ClientSettings:
        """Read and parse a file; refuse one that cannot be edited."""
        try:
            if path.stat().st_size > LARGEST:
                raise SettingsError(f"{path}: it is larger than {LARGEST:,} bytes; nothing was changed")
            data = path.read_bytes()
        except FileNotFoundError:
            return cls(path, None)
        except OSError as error:
            raise SettingsError(f"{path}: it cannot be read: {error.strerror}; nothing was changed") from None
        try:
            read = cls(path, data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise SettingsError(f"{path}: byte {error.start} is no UTF-8; mend it, nothing was changed") from None
        if not isinstance(read.value, dict):
            raise SettingsError(f"{path}: it holds no object; mend it, nothing was changed")
        return read

    @property
    def value(self) -> Any:
        """The settings as plain values."""
        try:
            return tomllib.loads(self.text or "") if self._is_toml else json_spans.parsed(self.text or "").value
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{self.path}: {error}; mend it, nothing was changed") from None
        except json_spans.JsonTextError as fault:
            raise SettingsError(f"{self.path}: {fault}; mend it, nothing was changed") from None

    def at(self, path: Iterable[str]) -> Any:
        """The value at a path of keys; none if there is none."""
        found = self.value
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def holds(self, piece: Piece) -> bool:
        """Whether a piece is there: a hook with this command, or any member at this path."""
        return bool(self._hooks(piece)) if piece.is_hook else self.at(piece.path) is not None

    def with_piece(self, piece: Piece) -> ClientSettings:
        """The settings with one more piece."""
        expected = copy.deepcopy(self.value)
        parent = expected
        for key in piece.path[:-1]:
            parent = self._checked(parent.setdefault(key, {}), dict, piece)
        if piece.is_hook:
            self._checked(parent.setdefault(piece.path[-1], []), list, piece).append(piece.value)
        else:
            parent[piece.path[-1]] = piece.value
        if self._is_toml:
            return self._guarded(self._toml(piece.path, piece.value), expected)
        new = json_spans.with_value(self.text or "", piece.path, piece.value, append=piece.is_hook)
        return self._guarded(new, expected)

    def without_piece(self, piece: Piece) -> ClientSettings:
        """The settings without a piece. Of a group of hooks that its user added to, only readmit's goes."""
        if not piece.is_hook:
            return self if self.at(piece.path) is None else self._without(piece.path)
        found = self
        for group, hook in reversed(self._hooks(piece)):
            alone = len(found.at(piece.path)[group]["hooks"]) == 1
            found = found._without((*piece.path, group) if alone else (*piece.path, group, "hooks", hook))
        return found

    def without_empty(self, path: tuple[str, ...]) -> ClientSettings:
        """The settings without a container that is empty."""
        return self._without(path) if self.at(path) in ({}, []) else self

    @property
    def _is_toml(self) -> bool:
        return self.path.suffix == ".toml"

    def _hooks(self, piece: Piece) -> list[tuple[int, int]]:
        """The hooks that run a piece's command: the index of the group, and within it."""
        groups = self.at(piece.path)
        return [
            (place, within)
            for place, group in enumerate(groups if isinstance(groups, list) else ())
            if isinstance(group, dict) and isinstance(group.get("hooks"), list)
            for within, hook in enumerate(group["hooks"])
            if isinstance(hook, dict) and hook.get("command") == piece.command
        ]

    def _without(self, path: tuple[str | int, ...]) -> ClientSettings:
        expected = parent = copy.deepcopy(self.value)
        for step in path[:-1]:
            parent = parent[step]
        del parent[path[-1]]
        new = self._toml(path, None) if self._is_toml else json_spans.without(self.text or "", path)
        return self._guarded(new, expected)

    def _toml(self, path: tuple[str | int, ...], value: dict[str, object] | None) -> str:
        """The TOML text with a table at a path, or without it."""
        import tomlkit

        document = tomlkit.parse(self.text or "")
        parent: Any = document
        try:
            for key in path[:-1]:
                if key not in parent:
                    parent[key] = tomlkit.table(is_super_table=True)
                parent = parent[key]
            if value is None:
                del parent[path[-1]]
            else:
                parent[path[-1]] = _table(value, inline=isinstance(parent, tomlkit.items.InlineTable))
        except (ValueError, TypeError, LookupError) as error:
            raise SettingsError(f"{self.path}: it cannot be edited: {error}; nothing was changed") from None
        return tomlkit.dumps(document)

    def _guarded(self, new: str, expected: object) -> ClientSettings:
        """The new text, if it holds exactly the expected values."""
        made = ClientSettings(self.path, new)
        if _filled(made.value) != _filled(expected):
            raise SettingsError(f"{self.path}: it cannot be edited without changing the rest; nothing was changed")
        return made

    def _checked(self, found: Any, kind: type, piece: Piece) -> Any:
        if not isinstance(found, kind):
            what = "list" if kind is list else "object"
            raise SettingsError(f"{self.path}: {'.'.join(piece.path)} is no {what}; mend it, nothing was changed")
        return found


def _filled(value: Any) -> Any:
    """Values without empty objects at the end of a path, which TOML does not write."""
    if not isinstance(value, dict):
        return value
    return {key: filled for key, one in value.items() if (filled := _filled(one)) != {}}


def _table(value: dict[str, object], *, inline: bool) -> Any:
    import tomlkit

    table = tomlkit.inline_table() if inline else tomlkit.table()
    table.update(value)
    if not inline:
        table.add(tomlkit.nl())
    return table
