"""The paired study on Memobase: against the stand-in unless a server is named. Not Memobase's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit.errors import BackendError
from readmit.models import Lexical
from readmit_bench.methods import admitted
from readmit_bench.methods.store_histories import Stores
from readmit_bench.methods.stores import KEY, URL, check_stores
from tests.backends.study import StudyOfAStore, half_way

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint
    from tests.backends.memobase.stand_in import StandIn

__all__ = ["half_way"]

pytestmark = pytest.mark.backends


class TestMemobase(StudyOfAStore):
    store = "Memobase"

    def test_nothing_stays_on_the_server(self, stand_in: StandIn, half_way: list[Checkpoint]) -> None:
        before = sum(map(len, stand_in.project.profiles.values()))
        with Stores(Lexical()) as stores:
            admitted(self.pair(stores)[0], half_way[0])
            assert sum(map(len, stand_in.project.profiles.values())) > before
        assert sum(map(len, stand_in.project.profiles.values())) == before

    def test_a_server_that_is_down_or_refuses_the_key_is_reported_before_anything_runs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(KEY, "another")
            with pytest.raises(BackendError, match=r"api_key: .* does not accept it"):
                check_stores(["Memobase/Static"], Lexical())
        monkeypatch.setenv(URL, "http://127.0.0.1:9")
        with pytest.raises(BackendError, match="cannot be reached"):
            check_stores(["Memobase/Static"], Lexical())
