from __future__ import annotations

from typing import Any

import pytest

from readmit.testing import BackendConformance
from tests.backends.memobase.openers import open_memobase

pytestmark = pytest.mark.backends


class TestMemobase(BackendConformance):
    opener = staticmethod(open_memobase)

    def plant(self, backend: Any, text: str, key: str) -> None:
        """With the client's own call, under our topic and key."""
        backend.native.get_user(backend.user(verbatim=True)).add_profile(text, "readmit", key)

    def tamper(self, backend: Any, record: str, text: str) -> None:
        native = backend.native.get_user(backend.user(verbatim=True))
        native.update_profile(record.split("/")[1], text, "readmit", "x")
