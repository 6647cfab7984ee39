from __future__ import annotations

from importlib.util import find_spec

import pytest

from readmit.backends.conformance import BackendConformance
from tests.backends.openers import open_mem0

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(find_spec("mem0") is None, reason="mem0ai is not installed; run: pip install 'readmit[mem0]'"),
]


class TestMem0(BackendConformance):
    opener = staticmethod(open_mem0)
