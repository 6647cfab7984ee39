"""The process in which a check runs ends by itself, also if nobody is left to end it."""

from __future__ import annotations

import json
import subprocess
import sys

LIMIT = """
import resource
from readmit.check import apart
apart._answer = lambda asked: resource.getrlimit(resource.RLIMIT_CPU)[0]
apart.check_from_stdin()
"""


def test_a_check_limits_its_own_processor_time() -> None:
    asked = json.dumps({"paths": [], "root": None, "changes": False, "seconds": 7})
    done = subprocess.run([sys.executable, "-c", LIMIT], input=asked, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == 7
