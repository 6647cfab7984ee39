"""Benchmarks and methods from other packages, found by entry points beside those that come with this one."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from readmit.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable

BENCHMARKS, METHODS = "readmit_bench.benchmarks", "readmit_bench.methods"

T = TypeVar("T")


def with_installed(group: str, own: Iterable[T], kind: type[Any]) -> dict[str, T]:
    """Built-in entries by name, then those of installed packages. Each name can be used once."""
    found: dict[str, Any] = {one.name: one for one in own}  # type: ignore[attr-defined]  # both kinds have a name
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
        except Exception as error:
            raise RecordError(f"{group}: {entry.value} does not load: {type(error).__name__}: {error}") from error
        if not isinstance(loaded, kind) or loaded.name in found:
            why = "its name is taken" if isinstance(loaded, kind) else f"it is no {kind.__name__}"
            raise RecordError(f"{group}: {entry.value} cannot be used: {why}")
        found[loaded.name] = loaded
    return found
