"""Opens a memory backend or a model from one line of text: ours by name, those of other packages by entry point.

    KIND:TARGET?option=value&option=value

A package adds a kind by an entry point in the group ``readmit.backends`` or ``readmit.models``. It is looked up when a
line names it, never before, and a name of ours cannot be taken over.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import msgspec

from readmit.records.error_types import BackendError, ModelError, ReadmitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Options = TypeVar("Options", bound=msgspec.Struct)


class Opener(NamedTuple):
    """The module of one of our own openers, and the extra that installs its package."""

    opener: str
    extra: str = ""


class Line(NamedTuple):
    """A parsed line."""

    kind: str
    target: str
    options: Mapping[str, str]


class Plugins:
    """The openers of one group."""

    def __init__(
        self, what: str, group: str, ours: Mapping[str, Opener], error: type[BackendError | ModelError]
    ) -> None:
        """``what`` names such a thing in messages, ``error`` is the exception they raise."""
        self._what = what
        self._group = group
        self._ours = ours
        self._error = error

    def open(self, line: Line, *arguments: object, methods: Iterable[str]) -> Any:
        """The object that a line's opener makes from ``arguments``. It must have all ``methods``."""
        if line.kind in self._ours:
            return EntryPoint(line.kind, self._ours[line.kind].opener, self._group).load()(*arguments)
        entry = self._entry(line.kind)
        whose = f"{self._what} {line.kind}: {_source(entry)}"
        try:
            made = entry.load()(*arguments)
        except ReadmitError:
            raise
        except Exception as error:
            raise self._error(f"{whose} failed with {type(error).__name__}: {error}") from error
        lacking = [name for name in methods if not hasattr(made, name)]
        if lacking:
            raise self._error(f"{whose} opened something without {', '.join(lacking)}")
        return made

    def read(self, spec: str) -> Line:
        """Parse a line. An unknown kind is reported when it is opened."""
        kind, _, rest = spec.partition(":")
        target, _, query = rest.partition("?")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        except ValueError:
            raise self._error(f"{self._what} {kind}:…?{query}: write options as name=value, joined by &") from None
        options = dict(pairs)
        if len(options) != len(pairs):
            raise self._error(f"{self._what} {kind}:…: an option is given twice")
        if "api_key" in options:
            raise self._error(
                f"{self._what} {kind}:…: put the key into an environment variable and name that with key_env="
            )
        return Line(kind, target, options)

    def options(self, line: Line, kind: type[Options]) -> Options:
        """A line's options as a struct, which checks their names and types."""
        try:
            return msgspec.convert(line.options, kind, strict=False)
        except msgspec.ValidationError as error:
            allowed = ", ".join(kind.__struct_fields__) or "none"
            raise self._error(f"{self._what} {line.kind}:…: {error}; options are {allowed}") from None

    def _entry(self, kind: str) -> EntryPoint:
        found = [entry for entry in entry_points(group=self._group) if entry.name == kind]
        if not found:
            raise self._error(f"{self._what} {kind!r}: must begin with one of {self.known()}")
        if len({entry.value for entry in found}) > 1:
            claims = " and ".join(sorted(map(_source, found)))
            raise self._error(f"{self._what} {kind}: {claims} both register it; uninstall one of them")
        return found[0]

    def known(self) -> str:
        """Every kind, with the command that installs what it needs."""
        ours = [
            f"{name}:…" + (f" (pip install 'readmit[{kind.extra}]')" if kind.extra else "")
            for name, kind in self._ours.items()
        ]
        others = {entry.name: entry for entry in entry_points(group=self._group) if entry.name not in self._ours}
        return ", ".join([*ours, *(f"{name}:… ({_source(others[name])})" for name in sorted(others))])


def require_package(package: str, extra: str, error: type[BackendError | ModelError]) -> None:
    """Raise unless an optional package is installed, with the command that installs it."""
    if find_spec(package) is None:
        raise error(f"{package} is not installed; run: pip install 'readmit[{extra}]'")


def _source(entry: EntryPoint) -> str:
    """The package that registers an entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
