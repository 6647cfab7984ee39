"""The words that start a hook import nothing of the folder in which the client starts it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from readmit.clients.hook_command import hook_command
from readmit.clients.known_clients import CLIENTS

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.clients.known_clients import Moment


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("moment", ["start", "prompt", "tool", "compact", "end"])
def test_no_module_of_the_checkout_is_imported(moment: Moment, client: str, tmp_path: Path) -> None:
    for name in ("readmit/__init__.py", "readmit/clients/__init__.py", "readmit/clients/hook.py", "json.py", "os.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("open('ran', 'w')\n", encoding="utf-8")
    words = hook_command(moment, client)
    subprocess.run(words, cwd=tmp_path, input=b"{}", capture_output=True, timeout=60, check=False)
    assert not (tmp_path / "ran").exists()
