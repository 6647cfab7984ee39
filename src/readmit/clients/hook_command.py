"""The words that start a hook, for the settings of every client: one place, because what they leave out is a defense.

A client starts a hook in the checkout. Python would look there for modules first, and a repository is data of a
stranger: with ``-P`` it does not, nor with ``-E`` where ``PYTHONPATH`` says. No ``readmit`` or ``json.py`` of the
repository is ever imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from readmit.clients import spool_line
from readmit.clients.project import spool_folder

if TYPE_CHECKING:
    from readmit.clients.known_clients import Moment

ISOLATED = ("-E", "-P")


def hook_command(moment: Moment, client: str) -> tuple[str, ...]:
    """The program and arguments of a moment. ``tool`` is the spool writer, which loads no package at all."""
    if moment == "tool":
        return (sys.executable, "-I", "-S", spool_line.__file__, str(spool_folder()), client)
    return (sys.executable, *ISOLATED, "-m", "readmit.clients.hook", moment, "--client", client)
