"""Packages that a backend needs: told about when it is opened, with the command that installs them."""

from __future__ import annotations

from importlib.util import find_spec

from readmit.records.errors import BackendError


def need(package: str, extra: str) -> None:
    """Refuse to go on without a package."""
    if find_spec(package) is None:
        raise BackendError(f"{package} is not installed; run: pip install 'readmit[{extra}]'")
