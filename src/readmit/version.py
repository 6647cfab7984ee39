"""The version, read from the installed package: it is written in ``pyproject.toml`` and nowhere else."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("readmit")
