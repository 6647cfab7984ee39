from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.backends.study import AskingOurModel, half_way

__all__ = ["half_way"]

pytestmark = pytest.mark.backends


@pytest.mark.skipif(find_spec("mem0") is None, reason="mem0ai is not installed; run: pip install 'readmit[mem0]'")
class TestMem0(AskingOurModel):
    store = "Mem0"


@pytest.mark.skipif(
    find_spec("agentic_memory") is None, reason="a-mem is not installed; run: pip install 'readmit[amem]'"
)
class TestAMem(AskingOurModel):
    store = "A-MEM"
