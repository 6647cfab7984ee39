"""What every test shares: how hypothesis searches, and where development data lies."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests import scene
from tests.board import Team
from tests.in_memory import use_memory
from tests.postgres import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent

# No deadline and no complaint about slow generation: the machine's load is not a property of the code.
# An ordinary run repeats the same examples, so that a checkout that passed once passes again. The other profiles
# look elsewhere each time, and a failure prints the blob that repeats it.
settings.register_profile(
    "search", deadline=None, derandomize=False, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("repeat", parent=settings.get_profile("search"), derandomize=True, database=None)
settings.register_profile("thorough", parent=settings.get_profile("search"), max_examples=2_000)
settings.register_profile("thorough-repeat", parent=settings.get_profile("repeat"), max_examples=2_000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "repeat")
settings.load_profile(PROFILE)


def examples(number: int) -> int:
    """How many examples a property gets that plays whole stories: all in a search, a fifth in an ordinary run."""
    return max(5, number // 5) if PROFILE == "repeat" else number


NIGHTLY = bool(os.environ.get("READMIT_NIGHTLY"))
"""Whether the campaigns of the slow tests run at full size, which takes hours: ``make test-nightly``."""
# A shell that runs the tests in the background has them ignore this signal, and so would the processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(os.environ.get("READMIT_SHARED") or ROOT.parent / "shared")
use_memory()


@pytest.fixture(scope="session", autouse=True)
def _configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A configuration folder of this run, for subprocesses too: tests leave no keys in that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.delenv("READMIT_KEYS", raising=False)
        yield


@pytest.fixture(scope="session")
def local_model() -> Path:
    """The weights of a real, small language model, fetched by the script that lies with the shared material."""
    script = SHARED / "models" / "get-model"
    if not script.is_file():
        pytest.skip(f"no {script}; set READMIT_SHARED to the folder that holds models/get-model")
    ran = subprocess.run([sys.executable, script, "smollm2-135m"], capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"the model cannot be fetched: {ran.stderr.strip()[-200:]}")
    return Path(ran.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark data, which is not part of this repository."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip(f"no benchmark data at {data}; set READMIT_SHARED to the folder that holds data/")
    return data


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server that lives as long as the tests."""
    pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")
    with Server() as started:
        yield started


@pytest.fixture(scope="session")
def postgres(server: Server) -> str:
    """The address of that server for a user with all rights there."""
    return server.administrator


_schemas = count(1)


@pytest.fixture
def fresh_url(server: Server) -> Callable[[], str]:
    """Gives the address of a store with nothing in it, each time another."""
    return lambda: server.url(f"fresh{next(_schemas)}")


# Not those whose subject is a stage, to which the store makes no difference.
ROOMS_ON_BOTH = {"attacks", "diagnosis", "pages", "presence", "records", "returning", "state", "workspace", "writing"}


ON_A_SERVER: dict[str, list[pytest.MarkDecorator]] = {
    "workspace/test_agents.py": [],
    "returning/test_delivery.py": [],
    "returning/test_retractions.py": [pytest.mark.slow],
    "writing/test_replacing.py": [pytest.mark.slow],
    "rules/test_duties.py": [pytest.mark.slow],
    "rules/test_which_item_stands.py": [pytest.mark.slow],
    "invalidate/test_lifecycle.py": [pytest.mark.slow],
}
"""Stories that are also played over HTTP, on a server with a key for each principal: the same tests, another handle."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the scenes of these packages on both stores. A test that names a file, or opens many stores, uses SQLite."""
    room = Path(str(metafunc.module.__file__)).parent.name
    played = getattr(metafunc.module, "Scene", None) is scene.Scene or getattr(metafunc.module, "Team", None) is Team
    of_a_scene = played and room in ROOMS_ON_BOTH
    own = is_hypothesis_test(metafunc.function) or {"place", "tmp_path"} & set(metafunc.fixturenames)
    stores: list[Any] = ["sqlite"]
    if of_a_scene and not own:
        slow = [pytest.mark.slow] if metafunc.definition.get_closest_marker("many_events") else []
        stores.append(pytest.param("postgres", marks=slow))
    if played and not own and (module := f"{room}/{Path(str(metafunc.module.__file__)).name}") in ON_A_SERVER:
        stores.append(pytest.param("http", marks=ON_A_SERVER[module]))
    if len(stores) > 1:
        metafunc.parametrize("kind_of_store", stores)


def pytest_collection_finish() -> None:
    """Modules and tests stay as long as the run does, so no collection of garbage needs to walk them again."""
    gc.collect()
    gc.freeze()


LONGEST = ("crash", "bench", "docs", "attacks", "properties", "log", "cli")
"""Rooms whose files take many seconds each."""


def _turn(item: pytest.Item) -> int:
    room = item.path.relative_to(ROOT).parts[1]
    return LONGEST.index(room) if room in LONGEST else len(LONGEST)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a table of cases, an ordinary run plays the first and the last on a server; ``make test-slow`` plays all.

    The rooms with the longest files go first, so that none of these is left to one core at the end.
    """
    items.sort(key=_turn)
    tables: defaultdict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        case = getattr(item, "callspec", None)
        if case is not None and case.params.get("kind_of_store") == "postgres":
            tables[item.path, item.name.partition("[")[0]].append(item)
    for cases in tables.values():
        for item in cases[1:-1]:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def kind_of_store() -> str:
    return "sqlite"


@pytest.fixture(autouse=True)
def _played_on(kind_of_store: str, request: pytest.FixtureRequest) -> Iterator[None]:
    if kind_of_store == "sqlite":
        yield
        return
    patch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    with ExitStack() as calls:
        if kind_of_store == "postgres":
            server: Server = request.getfixturevalue("server")
            patch.setattr(scene, "place", server.next_store())
            # Tests share a store whose workspaces were renamed: keys that knew them before would see them rolled back.
            keys = request.getfixturevalue("tmp_path_factory").mktemp("keys")
            patch.setenv("READMIT_KEYS", str(keys))
        elif kind_of_store == "http":
            from tests.remote.served import opener

            patch.setattr(scene, "open_team", opener(request.getfixturevalue("tmp_path"), patch, calls))
        yield


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A store with nothing in it, of either kind."""
    if request.param == "sqlite":
        return tmp_path / "team.db"
    url: str = request.getfixturevalue("fresh_url")()
    return url
