"""``python -m tests.house`` prints the figures of the house beside those before the redesign.

With ``--json`` it prints what it measured alone: ``before.json`` is that of the commit before the redesign, 07d2584,
by ``PYTHONPATH=OTHER/src:. python -m tests.house --json`` with that commit checked out in ``OTHER``.
``make docs`` writes the same table, and the walks, to docs/architecture.md.
"""

from __future__ import annotations

import json
import sys

from tests.house.figures import figures


def main(*arguments: str) -> None:
    if "--json" in arguments:
        print(json.dumps({figure.what: figure.value for figure in figures()}, indent=1))
    else:
        from tests.house.pages import figures_table  # another checkout, which --json measures, cannot import it

        print(figures_table())


if __name__ == "__main__":
    main(*sys.argv[1:])
