"""Optional packages: a missing one is reported when a model is opened, not when it is first used."""

from __future__ import annotations

from importlib.util import find_spec

from readmit.records.error_types import ModelError


def need(package: str, extra: str) -> None:
    """Raise unless a package is installed, with the command that installs it."""
    if find_spec(package) is None:
        raise ModelError(f"{package} is not installed; run: pip install 'readmit[{extra}]'")
