"""Attacks on a view: replay, rollback, mix and match, time of check and time of use, keys."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Pair, Reason, Return, Workspace
from readmit.errors import ExposureError, NotAllowedError, SealError, TamperedError
from readmit.lab import canonical
from readmit.returning.expose import Asker, expose
from readmit.trust.statement import seal_view
from tests.keys import keys_of
from tests.scene import HOUR, START, Scene, audited

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def issued(path: Path | str = ":memory:", **policy: Any) -> Scene:
    scene = Scene(path, **policy)
    scene.covered()
    scene.frontier()
    scene.away()
    return scene


def delivered(scene: Scene) -> Return:
    assert scene.outcome is not None
    scene.outcome.expose()
    return scene.outcome


def attempt(scene: Scene, **asked: Any) -> tuple[Reason, ...]:
    """The reasons of a refusal, each of which has its audit row; empty if the view was handed over."""
    outcome = scene.outcome
    assert outcome is not None
    asker = Asker(
        asked.get("identity", outcome.request.identity),
        asked.get("instance", outcome.request.instance),
        scene.team.admin.policy,
        scene.now,
    )
    before = scene.team._desk.log.audit.last
    try:
        expose(scene.team._desk.log, outcome.id, lambda: asker)
    except ExposureError as error:
        rows = list(scene.team._desk.log.audit.rows(first=before + 1))
        assert [row.kind for row in rows] == ["refusal"]
        return error.reasons
    return ()


@dataclass(frozen=True)
class Replayed:
    """What happens between issue and exposure, and what the exposure must then say."""

    after: Callable[[Scene], object]
    reasons: tuple[Reason, ...]
    asked: Callable[[Scene], dict[str, Any]] = lambda _: {}


REPLAYS = {
    "nothing happens": Replayed(lambda _: None, ()),
    "exposed before": Replayed(lambda scene: scene.outcome.expose(), ()),  # type: ignore[union-attr]
    "exposed and acknowledged": Replayed(lambda scene: delivered(scene).acknowledge(), (Reason.VIEW_CONSUMED,)),
    "exposed, and its principal wrote": Replayed(
        lambda scene: (delivered(scene), scene.team.observe("I have it.", by="ann")), (Reason.VIEW_CONSUMED,)
    ),
    "a new departure": Replayed(lambda scene: scene.depart(), (Reason.VIEW_CONSUMED,)),
    "exposed, and a new departure": Replayed(
        lambda scene: (delivered(scene), scene.ann().depart()), (Reason.VIEW_CONSUMED,)
    ),
    "a newer return": Replayed(lambda scene: scene.ann().come_back(), (Reason.VIEW_REPLACED,)),
    "a newer return, exposed": Replayed(lambda scene: scene.ann().come_back().expose(), (Reason.VIEW_REPLACED,)),
    "past its expiry": Replayed(lambda scene: scene.wait(timedelta(seconds=900)), (Reason.VIEW_EXPIRED,)),
    "the clock set back": Replayed(lambda scene: scene.wait(-HOUR), (Reason.VIEW_EXPIRED,)),
    "another principal": Replayed(
        lambda _: None,
        (Reason.BINDING_MISMATCH,),
        lambda scene: {"identity": scene.team.agent("eve", role="planner", task="trip").identity},
    ),
    "another role": Replayed(
        lambda _: None, (Reason.BINDING_MISMATCH,), lambda scene: {"identity": scene.ann("guest").identity}
    ),
    "another task": Replayed(
        lambda _: None, (Reason.BINDING_MISMATCH,), lambda scene: {"identity": scene.ann(task="other").identity}
    ),
    "another instance": Replayed(lambda _: None, (Reason.BINDING_MISMATCH,), lambda _: {"instance": "another"}),
    "a stricter policy": Replayed(
        lambda scene: scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(budgets={"items": 1})),
        (Reason.VIEW_OUTDATED,),
    ),
    "a policy of other writers": Replayed(
        lambda scene: scene.team.as_owner().admin.govern(
            scene.team.admin.policy.changed(evidence={"writers": ("cy",)})
        ),
        (Reason.VIEW_OUTDATED,),
    ),
    "an unrelated event": Replayed(lambda scene: scene.fact("aside"), ()),
}


@pytest.mark.parametrize("case", REPLAYS)
def test_replay(case: str) -> None:
    scene = issued()
    REPLAYS[case].after(scene)
    assert attempt(scene, **REPLAYS[case].asked(scene)) == REPLAYS[case].reasons


# Rollback.


def backup(path: Path, folder: Path) -> Path:
    folder.mkdir()
    for one in path.parent.glob("team.db*"):
        if one.is_file():
            shutil.copy(one, folder / one.name)
    return folder / "team.db"


def restore(saved: Path, path: Path) -> None:
    for one in path.parent.glob("team.db*"):
        if one.is_file():
            one.unlink()
    for one in saved.parent.glob("team.db*"):
        shutil.copy(one, path.parent / one.name)


def test_a_view_is_unknown_to_a_backup_from_before_it(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    scene = Scene(path)
    scene.covered()
    scene.depart()
    saved = backup(path, tmp_path / "saved")
    outcome = scene.come_back()
    scene.team.close()
    restore(saved, path)
    with Workspace.open(path, clock=lambda: START) as restored, pytest.raises(TamperedError, match="was rolled back"):
        restored._desk.expose(outcome.id, outcome.request.identity, outcome.secret)


def test_a_store_rolled_back_under_a_view_refuses_it() -> None:
    scene = issued()
    scene.sql("UPDATE workspace SET head = head - 4")
    with pytest.raises(TamperedError, match="the end of the log is not where commit"):
        attempt(scene)


def replace_stolen_key(scene: Scene) -> None:
    stolen = scene.team._desk.keys.signer().keyid
    keys = scene.team.as_owner().admin.keys
    keys.rotate()
    keys.revoke(stolen, reason="stolen")


# Event between issue and exposure.

EVENTS: dict[str, Callable[[Scene], object]] = {
    "revoke": lambda scene: scene.team.revoke("h", by="bob"),
    "supersede": lambda scene: scene.fact("h1", supersedes="h"),
    "close": lambda scene: scene.team.close_validity("h", end=scene.now, by="bob"),
    "dispute": lambda scene: scene.team.dispute(["h"], by="bob"),
    "slot": lambda scene: scene.fact("h2", slot="hotel"),
    "premise": lambda scene: scene.team.revoke("p", by="bob"),
    "suspect": lambda scene: scene.team.judge(Pair(item="h", evidence=scene.news()), by="worker"),
    "verdict": lambda scene: scene.verdict("h", scene.news()),
    "expiry": lambda scene: scene.wait(timedelta(minutes=10)),
    "settle": lambda scene: scene.team.settle("o", by="bob"),
    "frontier": lambda scene: scene.frontier("f2"),
    "duty": lambda scene: scene.duty("o2", required=("else",)),
    "key": replace_stolen_key,
    "writers": lambda scene: scene.team.as_owner().admin.govern(
        scene.team.admin.policy.changed(evidence={"writers": ("cy",)})
    ),
}


@pytest.mark.parametrize("clock_lags", [False, True])
@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize("event", EVENTS)
def test_an_event_between_issue_and_exposure_is_seen(event: str, waiting: bool, clock_lags: bool) -> None:
    """It lands before the exposure begins, or while that waits for the lock; the writer's clock may be ahead."""
    scene = Scene()
    scene.duty()
    scene.frontier()
    scene.fact("p")
    scene.fact("h", slot="hotel", supports=["d"], depends_on=["p"], valid_until=START + timedelta(minutes=10))
    scene.away()

    def land() -> None:
        scene.wait(timedelta(seconds=2))
        EVENTS[event](scene)
        if clock_lags and event != "expiry":
            scene.wait(timedelta(seconds=-1))

    if waiting:
        original = scene.team._desk.log.atomic
        landing = iter([land])

        def atomic(*, short: bool = False) -> Any:
            next(landing, lambda: None)()
            return original(short=short)

        scene.team._desk.log.atomic = atomic  # type: ignore[method-assign]
    else:
        land()
    assert attempt_asking(scene), f"{event} landed before the exposure and the view was handed over"


def attempt_asking(scene: Scene) -> tuple[Reason, ...]:
    assert scene.outcome is not None
    try:
        scene.outcome.expose()
    except ExposureError as error:
        return error.reasons
    return ()


@given(st.lists(st.tuples(st.sampled_from(list(EVENTS)), st.integers(0, 3)), max_size=4))
@settings(max_examples=60)
def test_what_is_exposed_is_eligible_wherever_events_land(events: list[tuple[str, int]]) -> None:
    """Before recording, departure, return or exposure: a second, immediate return admits all that was exposed."""
    scene = Scene(limits={"invalidations": 100})
    scene.duty()
    scene.frontier()
    scene.fact("p")
    scene.fact("h", slot="hotel", supports=["d"], depends_on=["p"], valid_until=START + timedelta(minutes=10))
    done: set[str] = set()

    def land(point: int) -> None:
        for event, where in events:
            if where == point and event not in done:
                done.add(event)
                with contextlib.suppress(NotAllowedError):  # once bob is no writer any more
                    EVENTS[event](scene)

    land(0)
    scene.depart(id="left")
    land(1)
    outcome = scene.come_back()
    land(2)
    if outcome.admitted and not attempt_asking(scene):
        assert outcome.view is not None
        again = scene.come_back(checkpoint="left")
        eligible = {one.item for one in again.dispositions if one.state in {"admitted", "not_needed"}}
        assert {item.id for item in outcome.view.items} <= eligible
        assert again.admitted


# Mix and match.


@pytest.mark.parametrize("case", ["drop", "swap", "reorder", "double", "other digest"])
def test_a_view_whose_items_were_tampered_with_does_not_open(case: str) -> None:
    scene = issued()
    outcome = scene.outcome
    assert outcome is not None
    assert outcome.view is not None
    one, two, three = outcome.view.items
    items = {
        "drop": (one, two),
        "swap": (one, two, msgspec.structs.replace(three, id="other")),
        "reorder": (two, one, three),
        "double": (one, two, three, three),
        "other digest": (one, two, msgspec.structs.replace(three, digest="0" * 64)),
    }[case]
    stored = scene.team._desk.log.audit.decision(outcome.id)
    assert stored is not None
    genuine = stored.envelope()
    view = msgspec.structs.replace(outcome.view, items=items)
    try:
        # Even the workspace's own key does not make such a view: its digest is over the whole set.
        forged = seal_view(view, scene.team._desk.keys.signer())
    except SealError:
        forged = None
    if case == "swap":
        # Another id with the right digest can be signed, but the log holds the decision on the genuine one.
        assert forged is not None
        scene.sql("UPDATE decision SET seal = ?", canonical(forged.signatures[0]))
        assert attempt(scene) == (Reason.SIGNATURE_INVALID,)
    else:
        assert forged is None
    decision = msgspec.structs.replace(outcome.decision, view=view)
    scene.sql("UPDATE decision SET seal = ?", canonical(genuine.signatures[0]))
    scene.sql("UPDATE audit SET body = ? WHERE kind = 'decision'", canonical(decision))
    assert attempt(scene) == (Reason.LOG_ALTERED,)


def test_the_view_of_one_return_does_not_open_under_another() -> None:
    scene = issued()
    first = scene.outcome
    assert first is not None
    second = scene.come_back()
    theirs = scene.team._desk.log.audit.decision(first.id)
    assert theirs is not None
    scene.sql("UPDATE decision SET seal = ? WHERE return_id = ?", theirs.seal, second.id)
    assert attempt(scene) == (Reason.SIGNATURE_INVALID,)


# The audit.


def decided() -> Scene:
    scene = issued()
    assert scene.outcome is not None
    scene.outcome.expose()
    list(scene.team._desk.log.audit.rows())
    return scene


@pytest.mark.parametrize(
    "tampering",
    [
        "DELETE FROM audit WHERE pos = (SELECT max(pos) FROM audit)",
        "DELETE FROM audit WHERE pos = (SELECT min(pos) FROM audit)",
        "UPDATE piece SET body = CAST('[]' AS BLOB)",
        "DELETE FROM piece",
        "INSERT INTO piece SELECT ws, 'other', body FROM piece LIMIT 1",
        "UPDATE audit SET item = 'other' WHERE kind = 'decision'",
        "UPDATE audit SET return_id = 'other'",
        "UPDATE audit SET kind = 'refusal' WHERE kind = 'exposure'",
        "INSERT INTO audit SELECT pos + 1, return_id, kind, item, body FROM audit ORDER BY pos DESC LIMIT 1",
        "UPDATE workspace SET audit = audit - 1",
    ],
)
def test_an_altered_or_shortened_audit_does_not_verify(tampering: str) -> None:
    scene = decided()
    assert audited(scene.team).intact
    scene.sql(tampering)
    assert not audited(scene.team).intact


@pytest.mark.parametrize("table", ["event", "audit", "commit_record", "decision", "piece"])
def test_the_log_and_the_audit_are_append_only_for_other_programs_too(table: str, tmp_path: Path) -> None:
    import sqlite3

    scene = issued(tmp_path / "team.db")
    scene.team.close()
    other = sqlite3.connect(tmp_path / "team.db")
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = rowid"):  # noqa: S608
        with pytest.raises(sqlite3.Error):
            other.execute(statement)
    other.close()


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE event SET by = 'eve' WHERE id = 'item:h'",
        "UPDATE event SET at = '2020-01-01T00:00:00+00:00' WHERE id = 'item:h'",
        "UPDATE event SET body = CAST('{}' AS BLOB) WHERE id = 'item:h'",
        "DELETE FROM event WHERE id = 'item:h'",
        "DELETE FROM event WHERE pos = (SELECT max(pos) FROM event)",
    ],
)
def test_an_altered_log_does_not_verify(tampering: str) -> None:
    scene = issued()
    assert audited(scene.team).intact
    scene.sql(tampering)
    assert not audited(scene.team).intact


# Keys.


def test_a_view_signed_before_a_rotation_opens_until_the_overlap_ends() -> None:
    scene = issued(returns={"view_seconds": 7200})
    scene.team.as_owner().admin.keys.rotate(overlap=HOUR)
    scene.wait(HOUR - timedelta(seconds=1))
    saved = scene.outcome
    assert attempt(scene) == ()
    scene.outcome = saved
    late = issued(returns={"view_seconds": 7200})
    late.team.as_owner().admin.keys.rotate(overlap=HOUR)
    late.wait(HOUR)
    assert attempt(late) == (Reason.SIGNATURE_INVALID,)


def test_a_stolen_key_opens_nothing_from_its_revocation_on() -> None:
    scene = issued()
    stolen = scene.team._desk.keys.signer()
    scene.team.as_owner().admin.keys.rotate()
    scene.team.as_owner().admin.keys.revoke(stolen.keyid, reason="stolen")
    assert attempt(scene) == (Reason.SIGNATURE_INVALID,)
    # What it signs from now on counts as little, although the content is genuine.
    scene.come_back()
    assert scene.outcome is not None
    assert scene.outcome.view is not None
    scene.sql(
        "UPDATE decision SET seal = ? WHERE return_id = ?",
        canonical(seal_view(scene.outcome.view, stolen).signatures[0]),
        scene.outcome.id,
    )
    assert attempt(scene) == (Reason.SIGNATURE_INVALID,)
    assert scene.come_back().expose().items


def test_without_its_keys_a_workspace_blocks_and_says_so(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db")
    scene.covered()
    scene.depart()
    shutil.rmtree(keys_of(tmp_path / "team.db"))
    outcome = scene.come_back()
    assert (outcome.kind, outcome.reasons, outcome.view) == ("blocked", (Reason.SIGNER_FAILED,), None)
    assert [row.kind for row in scene.team._desk.log.audit.rows()] == ["decision"]
    with pytest.raises(ExposureError, match="signer_failed"):
        outcome.expose()
    # A new process does not quietly make new keys either; rotation is an explicit decision.
    scene.team.close()
    with Workspace.open(tmp_path / "team.db", clock=lambda: START) as again:
        ann = again.agent("ann", role="planner", task="trip")
        with pytest.raises(SealError, match="readmit keys rotate --lost"):
            ann.come_back()
        again.as_owner().admin.keys.rotate(lost=True)
        assert ann.come_back().expose().items


class Down:
    """A signer that fails."""

    keyid = "0" * 64
    public = bytes(32)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def sign(self, data: bytes) -> bytes:
        raise self.error


@pytest.mark.parametrize("error", [SealError("down"), OSError("no route"), TimeoutError(), ValueError("odd")], ids=repr)
def test_a_signer_that_fails_in_any_way_blocks(error: Exception) -> None:
    scene = Scene(returns={"on_incomplete": "reset"})
    scene.covered()
    scene.team._desk.keys.signer = lambda: Down(error)  # type: ignore[method-assign]
    outcome = scene.away()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.SIGNER_FAILED,))
    assert [row.kind for row in scene.team._desk.log.audit.rows()] == ["decision"]


def test_a_return_that_could_not_be_signed_has_every_item_and_its_reason_on_record() -> None:
    """What was out is out for its own reasons; what would have gone into the view is withheld with it."""
    scene = Scene()
    scene.covered()
    scene.fact("old")
    scene.fact("extra")
    scene.ann().remember("a habit", bound_to="h", id="x")
    scene.depart()
    scene.team.revoke("old", by="bob", reason="wrong")
    signer = scene.team._desk.keys.signer
    scene.team._desk.keys.signer = lambda: Down(SealError("down"))  # type: ignore[method-assign]
    failed = scene.come_back()
    scene.team._desk.keys.signer = signer  # type: ignore[method-assign]
    admitted = scene.come_back()
    assert admitted.admitted
    assert [one.item for one in failed.dispositions] == [one.item for one in admitted.dispositions]
    assert not any(one.admitted for one in failed.dispositions)
    assert failed.explain("old").disposition == admitted.explain("old").disposition
    withheld = {one.item for one in failed.dispositions if one.reasons == (Reason.WITHHELD,)}
    assert withheld == {one.item for one in admitted.dispositions if one.admitted}
    assert [note.reason for note in failed.decision.experiences] == [Reason.SOURCE_NOT_IN_VIEW]
    assert [note.reason for note in admitted.decision.experiences] == [Reason.SOURCE_IN_VIEW]
    assert scene.team.returned(failed.id).dispositions == failed.dispositions
    assert audited(scene.team).intact
