"""``python -m readmit``: the command line without its script."""

from __future__ import annotations

from readmit.cli import main

if __name__ == "__main__":
    main(prog_name="python -m readmit")
