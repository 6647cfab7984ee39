"""Optional packages: told about when a model is opened, not when it is first asked."""

from __future__ import annotations

from importlib.util import find_spec

from readmit.records.errors import ModelError


def need(package: str, extra: str) -> None:
    """Refuse to go on without a package, naming the command that installs it."""
    if find_spec(package) is None:
        raise ModelError(f"{package} is not installed; run: pip install 'readmit[{extra}]'")
