"""``make test-clients``: install the clients from npm, then run their tests inside an empty network namespace.

The clients are those of ``package.json`` beside this file, each at one version, in ``.clients``. Words after the
module's name are handed to pytest.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.real.driven import INSTALLED
from tests.conftest import ROOT

WANTED = Path(__file__).with_name("package.json")
ALONE = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")


def main(words: list[str]) -> int:
    if missing := [program for program in ("npm", "node", "git", "unshare", "ip") if not shutil.which(program)]:
        return _refuse(f"needs {', '.join(missing)}")
    if subprocess.run([*ALONE, "ip", "link", "set", "lo", "up"], check=False).returncode:
        return _refuse("needs root, or a kernel that gives users network namespaces")
    if _installed() != _wanted():
        INSTALLED.mkdir(exist_ok=True)
        shutil.copy(WANTED, INSTALLED)
        install = ("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel", "error")
        if subprocess.run(install, cwd=INSTALLED, check=False).returncode or _installed() != _wanted():
            return _refuse("npm could not install the clients")
    inside = 'ip link set lo up && exec "$@"'
    tests = (sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", str(WANTED.parent), *words)
    given = os.environ | {"READMIT_REAL_CLIENTS": "1"}
    return subprocess.run([*ALONE, "sh", "-c", inside, "sh", *tests], cwd=ROOT, env=given, check=False).returncode


def _wanted() -> dict[str, str]:
    versions: dict[str, str] = json.loads(WANTED.read_text(encoding="utf-8"))["dependencies"]
    return versions


def _installed() -> dict[str, str]:
    """The version of each wanted client that is there."""
    pages = {name: INSTALLED / "node_modules" / name / "package.json" for name in _wanted()}
    return {
        name: json.loads(page.read_text(encoding="utf-8"))["version"] for name, page in pages.items() if page.exists()
    }


def _refuse(why: str) -> int:
    """No client was driven: that is a failure, never a skip."""
    print(f"make test-clients {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
