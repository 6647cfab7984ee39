"""The files in ``deploy``: what they run exists, and what they say of it is so."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import parsed
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DEPLOY = ROOT / "deploy"


def test_the_unit_serves_this_machine_behind_its_proxy() -> None:
    (words,) = re.findall(r"^ExecStart=\S+/readmit serve (.*)$", (DEPLOY / "readmit.service").read_text(), re.MULTILINE)
    read = parsed("serve", words)
    assert (read["listen"], read["proxies"]) == ("127.0.0.1:8421", ("127.0.0.1",))


def test_the_container_refuses_to_listen_without_tls_and_its_comment_says_how() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    (entry,) = re.findall(r'^ENTRYPOINT \["readmit", "serve", (.*)\]$', text, re.MULTILINE)
    (more,) = re.findall(r"^#     (--proxy .*)$", text, re.MULTILINE)
    read = parsed("serve", f"{entry.replace(chr(34), '').replace(',', '')} {more}")
    assert (read["listen"], read["proxies"]) == ("0.0.0.0:8421", ("172.16.0.0/12",))
    for name in re.findall(r"COPY ([^-].*) \S+$", text, re.MULTILINE):
        assert all((ROOT / part).exists() for part in name.split())


def test_the_proxy_passes_on_no_address_that_a_client_says() -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    assert re.findall(r"X-Forwarded-For +(\S+);", text) == ["$remote_addr"]
    assert set(re.findall(r"proxy_pass +(\S+);", text)) == {"http://127.0.0.1:8421"}
    assert re.findall(r"readmit serve ([^`]*)`", text)
    parsed("serve", re.findall(r"readmit serve ([^`]*)`", text)[0])
    assert "client_max_body_size 8m;" in text, "as --largest"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "readmit.service"
    unit.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", (DEPLOY / "readmit.service").read_text()))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "readmit" in line]) == (0, [])
