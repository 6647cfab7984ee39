"""A file that an item rests on, from observation to exposure, on a real disk with the built-in prober."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from readmit import Reason, Workspace
from readmit.errors import ProbeError
from readmit.events import EventKind
from readmit.sources import Call, File, FileProbe, Finding, Looker
from readmit.types import Evidence, Looked, Scope
from tests.scene import Clock

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = "# Limits\n\nA client may send 100 requests a minute.\nUploads end at 5 MB.\n"
LATER = timedelta(minutes=5)


class Repository:
    """A folder with notes, a store beside them, and an agent that leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "limits.md"
        self.notes.write_text(LIMITS, encoding="utf-8")
        self.clock = Clock()
        self.team = Workspace.open(folder / "team.db", clock=self.clock)
        self.ann = self.team.agent("ann", role="developer", task="client")

    def leave(self) -> None:
        self.ann.depart()
        self.clock.now += LATER


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path)
    seen = made.team.observe(probe=File("limits.md", lines="3-3"), by="bob")
    made.team.record("A client may send 100 requests a minute", id="rate", slot="rate", sources=[seen], by="bob")
    return made


def test_a_file_that_stays_as_it_was_keeps_its_item(repository: Repository) -> None:
    repository.leave()
    assert repository.ann.come_back().items == ("rate",)


def test_a_file_that_changed_a_moment_ago_is_noticed_and_an_unchanged_one_is_not_written_down_again(
    repository: Repository,
) -> None:
    repository.ann.depart()
    assert repository.ann.come_back().items == ("rate",)
    assert not [event for event in repository.team._desk.log.tail() if isinstance(event.payload, Looked)]
    repository.notes.write_text(LIMITS.replace("100", "20"), encoding="utf-8")
    assert repository.ann.come_back().items == ()


def test_a_return_says_how_fresh_its_sources_are(repository: Repository) -> None:
    repository.leave()
    back = repository.ann.come_back()
    [source] = back.sources
    assert (source.item, source.seen, source.finding) == ("rate", repository.clock.now, Finding.UNCHANGED)
    bundle = back.expose()
    assert "- Source last seen 2026-03-01T09:05:00Z: unchanged" in bundle.markdown()
    assert '"source":{"seen":"2026-03-01T09:05:00Z","finding":"unchanged"}' in bundle.json()
    assert "Source limits.md:3-3: looked at on 2026-03-01 09:05:00 UTC, unchanged." in str(back.explain("rate"))


def test_a_file_that_changed_takes_its_item_out_and_says_what_is_there_now(repository: Repository) -> None:
    repository.leave()
    repository.notes.write_text(LIMITS.replace("100", "20"), encoding="utf-8")
    back = repository.ann.come_back()
    assert back.items == ()
    [fate] = back.dispositions
    assert fate.reasons == (Reason.SOURCE_CHANGED,)
    now = repository.team._desk.log.evidence(fate.causes[0].ref).payload
    assert isinstance(now, Evidence)
    assert "20 requests a minute" in now.text
    repository.team.record(
        "A client may send 20 requests a minute", id="rate2", slot="rate", sources=[fate.causes[0].ref], by="bob"
    )
    assert repository.ann.come_back().items == ("rate2",)


def test_a_quote_that_moved_within_its_file_is_found_and_followed(repository: Repository) -> None:
    repository.leave()
    repository.notes.write_text("A new line.\n" + LIMITS, encoding="utf-8")
    assert repository.ann.come_back().items == ("rate",)
    looks = [event.payload for event in repository.team._desk.log.tail() if isinstance(event.payload, Looked)]
    [moved] = looks[-1].found
    assert moved.finding is Finding.MOVED
    assert isinstance(moved.probe, FileProbe)
    assert moved.probe.first == 4
    repository.clock.now += LATER
    assert repository.ann.come_back().items == ("rate",)
    repository.notes.write_text(LIMITS.replace("100", "20"), encoding="utf-8")
    repository.clock.now += LATER
    assert repository.ann.come_back().items == ()


def test_a_file_that_is_gone_takes_its_item_out(repository: Repository) -> None:
    repository.leave()
    repository.notes.unlink()
    assert repository.ann.come_back().dispositions[0].reasons == (Reason.SOURCE_CHANGED,)


def test_a_file_outside_the_roots_is_not_observed(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_text("the password", encoding="utf-8")
    with pytest.raises(ProbeError):
        repository.team.observe(probe=File(secret), by="bob")
    assert [event for event in repository.team._desk.log.tail() if event.kind is EventKind.OBSERVE][1:] == []


def test_a_probe_that_the_policy_no_longer_allows_leaves_its_source_unseen(tmp_path: Path) -> None:
    clock = Clock()
    answers = {"version": "3.1"}
    with Workspace.open(
        tmp_path / "team.db", clock=clock, prober=partial(Looker, callables={"version": lambda: answers["version"]})
    ) as team:
        team.record(
            "The server is 3.1", id="v", sources=[team.observe(probe=Call("version"), by="bob")], by="bob", slot="v"
        )
        team.oblige("Write the client", id="o", required=["v"], critical=["v"], by="bob")
        team.agent("ann", role="developer", task="client").depart()
    clock.now += LATER
    with Workspace.open(tmp_path / "team.db", clock=clock) as team:
        back = team.agent("ann", role="developer", task="client").come_back()
        assert not back.admitted
        assert Reason.SOURCE_UNSEEN in {reason for one in back.dispositions for reason in one.reasons}
        assert "version" in str(back.explain("v"))


def test_the_keys_of_the_workspace_are_not_read_even_if_a_probe_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
    repository = Repository(tmp_path)
    [key] = (tmp_path / "keys").rglob("*.pem")
    place = str(key.relative_to(tmp_path))
    with pytest.raises(ProbeError, match="secret"):
        repository.team.observe(probe=File(place), by="mallory")
    scope = Scope(workspace=repository.team.name)
    probe = FileProbe(path=place, digest=sha256(b"guess").hexdigest())
    forged = Evidence(text="guess", by="mallory", at=repository.clock.now, scope=scope, probe=probe)
    epoch = repository.team._desk.writer.write(EventKind.OBSERVE, forged, by="mallory")
    source = repository.team._desk.log.event(epoch).digest
    repository.team.record("a guess", id="g", sources=[source], by="mallory")
    repository.leave()
    back = repository.ann.come_back()
    assert "secret" in back.dispositions[0].unseen[0].note
    secret = key.read_text(encoding="ascii").splitlines()[1]
    assert not any(secret in str(event.payload) for event in repository.team._desk.log.tail())
