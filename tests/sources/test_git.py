from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

from readmit import LookRules
from readmit.errors import GoneError, ProbeError, RecordError
from readmit.sources import Finding, Git, GitProbe, Looker
from tests.sources.conftest import PATIENT, Repo, limits_of

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.sources import ProbeResult

TEXT = "".join(f"line {number}\n" for number in range(1, 31))


def look(looker: Looker, probe: object) -> ProbeResult:
    assert isinstance(probe, GitProbe)
    [result] = looker.look([probe])
    return result


def test_a_file_of_a_commit_is_captured_from_the_repository_and_not_from_the_working_tree(
    repo: Repo, looker: Looker
) -> None:
    commit = repo.commit(a__txt="committed\n")
    (repo.folder / "a.txt").write_text("not committed\n")
    text, probe = looker.capture(Git("a.txt", repository="repo"))
    assert text == "committed\n"
    assert isinstance(probe, GitProbe)
    assert (probe.ref, probe.commit) == ("HEAD", commit)
    assert look(looker, probe) == (Finding.UNCHANGED, probe, "", "")


def test_a_branch_that_moved_without_touching_the_text_is_unchanged(repo: Repo, looker: Looker) -> None:
    repo.commit(a__txt="same\n")
    _, probe = looker.capture(Git("a.txt", repository="repo", ref="main"))
    repo.commit(b__txt="another\n")
    assert look(looker, probe).outcome is Finding.UNCHANGED


def test_a_branch_that_moved_to_another_text_is_changed_and_the_commit_is_named(repo: Repo, looker: Looker) -> None:
    repo.commit(a__txt="old\n")
    _, probe = looker.capture(Git("a.txt", repository="repo", ref="main"))
    commit = repo.commit(a__txt="new\n")
    found = look(looker, probe)
    assert (found.outcome, found.text) == (Finding.CHANGED, "new\n")
    assert isinstance(found.probe, GitProbe)
    assert found.probe.commit == commit
    assert look(looker, found.probe).outcome is Finding.UNCHANGED


def test_lines_and_symbols_are_followed_through_commits(repo: Repo, looker: Looker) -> None:
    repo.commit(a__txt=TEXT, b__py="def f():\n    return 1\n")
    _, lines = looker.capture(Git("a.txt", repository="repo", lines="10-12"))
    _, symbol = looker.capture(Git("b.py", repository="repo", symbol="f"))
    repo.commit(a__txt="new\n" + TEXT, b__py="import os\n\ndef f():\n    return 1\n")
    moved, same = look(looker, lines), look(looker, symbol)
    assert isinstance(moved.probe, GitProbe)
    assert (moved.outcome, moved.probe.first) == (Finding.MOVED, 11)
    assert same.outcome is Finding.UNCHANGED


def test_a_renamed_file_is_found_under_its_new_name(repo: Repo, looker: Looker) -> None:
    repo.commit(a__txt=TEXT, other__txt="x\n")
    _, probe = looker.capture(Git("a.txt", repository="repo", lines="3-4"))
    _, whole = looker.capture(Git("a.txt", repository="repo"))
    repo.commit(a__txt=None, b__txt=TEXT)
    found = look(looker, probe)
    assert isinstance(found.probe, GitProbe)
    assert (found.outcome, found.probe.path, found.probe.first) == (Finding.MOVED, "b.txt", 3)
    repo.commit(b__txt=TEXT + "more\n")
    found = look(looker, whole)
    assert (found.outcome, found.text) == (Finding.CHANGED, TEXT + "more\n")


def test_a_deleted_file_a_deleted_branch_and_a_file_that_became_a_directory_are_gone(
    repo: Repo, looker: Looker
) -> None:
    repo.commit(a__txt="text\n", b__txt="b\n")
    repo.git("branch", "topic")
    _, file = looker.capture(Git("a.txt", repository="repo"))
    _, branch = looker.capture(Git("a.txt", repository="repo", ref="topic"))
    repo.commit(a__txt=None)
    repo.git("branch", "-D", "topic")
    assert look(looker, file).outcome is Finding.GONE
    assert look(looker, branch) == (Finding.GONE, branch, "", "there is no topic")
    (repo.folder / "a.txt").mkdir()
    repo.commit(**{"a__txt/x": "x\n"})
    assert look(looker, file).outcome is Finding.GONE


def test_what_a_clone_lacks_was_not_looked_at(repo: Repo, looker: Looker) -> None:
    (repo.folder / "sub").mkdir()
    repo.commit(**{"sub/a__txt": "text\n"})
    _, probe = looker.capture(Git("sub/a.txt", repository="repo"))
    absent = msgspec.structs.replace(probe, path="sub/b.txt")
    for name in ("HEAD:sub/a.txt", "HEAD:sub", "HEAD^{tree}"):
        found = repo.git("rev-parse", name)
        (repo.folder / ".git" / "objects" / found[:2] / found[2:]).unlink()
        assert look(looker, probe).outcome is Finding.UNSEEN
        assert look(looker, absent).outcome is (Finding.GONE if name.endswith("txt") else Finding.UNSEEN)


def test_a_path_with_spaces_and_letters_beyond_ascii_is_found(repo: Repo, looker: Looker) -> None:
    repo.commit(**{"año nuevo 5 blob": "text\n"})
    text, probe = looker.capture(Git("año nuevo 5 blob", repository="repo"))
    assert text == "text\n"
    assert look(looker, probe).outcome is Finding.UNCHANGED


def test_a_rewritten_history_is_compared_by_its_text(repo: Repo, looker: Looker) -> None:
    repo.commit(a__txt="text\n")
    _, probe = looker.capture(Git("a.txt", repository="repo", ref="main"))
    repo.git("commit", "--amend", "--quiet", "--message=other")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    assert look(looker, probe).outcome is Finding.UNCHANGED
    repo.commit(a__txt=None, b__txt="text\n")
    assert look(looker, probe).outcome is Finding.GONE


def test_a_worktree_is_read_if_its_repository_is_below_a_root_too(repo: Repo, root: Path, tmp_path: Path) -> None:
    repo.commit(a__txt="text\n")
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    both = Looker(LookRules(roots=(str(root), str(tmp_path / "side"))))
    assert both.capture(Git("a.txt", repository=str(tmp_path / "side"), ref="side")).text == "text\n"
    alone = Looker(LookRules(roots=(str(tmp_path / "side"),)))
    with pytest.raises(ProbeError, match=r"^roots: .* keeps objects in"):
        alone.capture(Git("a.txt", repository=".", ref="side"))


def test_a_bare_repository_is_read(repo: Repo, root: Path, looker: Looker) -> None:
    repo.commit(a__txt="text\n")
    repo.git("clone", "--quiet", "--bare", str(repo.folder), str(root / "bare.git"))
    assert looker.capture(Git("a.txt", repository="bare.git")).text == "text\n"


def test_a_directory_without_a_repository_was_not_looked_at(repo: Repo, root: Path, looker: Looker) -> None:
    repo.commit(a__txt="text\n")
    _, probe = looker.capture(Git("a.txt", repository="repo"))
    repo.folder.rename(root / "elsewhere")
    assert look(looker, probe) == (Finding.UNSEEN, probe, "", "repo is not a git repository")


def test_one_probe_that_fails_leaves_the_others_of_its_repository_alone(repo: Repo, root: Path) -> None:
    repo.commit(a__txt="text\n", big__txt="x" * 5_000)
    looker = Looker(LookRules(roots=(str(root),), bytes=1_000))
    _, probe = looker.capture(Git("a.txt", repository="repo"))
    big = msgspec.structs.replace(probe, path="big.txt")
    assert [found.outcome for found in looker.look([probe, big, probe])] == [
        Finding.UNCHANGED,
        Finding.UNSEEN,
        Finding.UNCHANGED,
    ]


def test_git_itself_is_not_started(repo: Repo, looker: Looker, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a__txt=TEXT)
    _, probe = looker.capture(Git("a.txt", repository="repo"))
    repo.commit(a__txt=None, b__txt=TEXT + "more\n")
    monkeypatch.setattr(subprocess, "Popen", None)
    assert look(looker, probe).outcome is Finding.CHANGED


FORMS = {
    "loose objects": (),
    "a pack": ("repack", "-adfq", "--depth=50", "--window=50"),
    "a pack whose differences name their bases": (
        "-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50", "--window=50",
    ),
    "packed refs": ("pack-refs", "--all", "--prune"),
    "everything as gc leaves it": ("gc", "--quiet", "--prune=now"),
}  # fmt: skip


@pytest.mark.parametrize("hashing", ["sha1", "sha256"])
@pytest.mark.parametrize("form", FORMS)
def test_a_repository_is_read_in_every_form_that_git_gives_it(form: str, hashing: str, root: Path) -> None:
    (root / "repo").mkdir()
    repo = Repo(root / "repo", f"--object-format={hashing}")
    texts = {}
    (repo.folder / "sub").mkdir()
    for number in range(12):
        text = "".join(f"line {line} {'changed' if line % 12 == number else ''}\n" for line in range(400)) * (
            number + 1
        )
        texts[repo.commit(**{"sub/a__txt": text, f"f{number}": f"{number}\n"})] = text
    repo.git("tag", "--annotate", "--message=m", "v1")
    if FORMS[form]:
        repo.git(*FORMS[form])
    looker = Looker(limits_of(roots=(str(root),), **PATIENT))
    for commit, text in texts.items():
        assert looker.capture(Git("sub/a.txt", repository="repo", ref=commit)).text == text
    for ref in ("HEAD", "main", "heads/main", "refs/heads/main", "v1", "tags/v1"):
        assert looker.capture(Git("f11", repository="repo", ref=ref)).text == "11\n"


def test_an_index_with_long_offsets_is_read(repo: Repo, looker: Looker) -> None:
    repo.commit(a__txt=TEXT, b__txt="b\n")
    repo.git("gc", "--quiet", "--prune=now")
    [pack] = (repo.folder / ".git" / "objects" / "pack").glob("*.pack")
    index = pack.with_suffix(".idx")
    index.unlink()
    repo.git("index-pack", "--index-version=2,0x10", "-o", str(index), str(pack))
    assert looker.capture(Git("a.txt", repository="repo")).text == TEXT


def test_a_commit_is_named_in_full(repo: Repo, looker: Looker) -> None:
    commit = repo.commit(a__txt="text\n")
    with pytest.raises(ProbeError, match=r"names no branch or tag; write a commit in full"):
        looker.capture(Git("a.txt", repository="repo", ref=commit[:9]))
    _, probe = looker.capture(Git("a.txt", repository="repo", ref=commit))
    absent = msgspec.structs.replace(probe, ref="0" * 40)
    assert look(looker, absent) == (Finding.GONE, absent, "", f"there is no {'0' * 40}")


def test_objects_may_be_borrowed_below_the_roots(repo: Repo, root: Path, looker: Looker) -> None:
    repo.commit(a__txt="text\n")
    repo.git("clone", "--quiet", "--shared", str(repo.folder), str(root / "second"))
    repo.git("clone", "--quiet", "--shared", str(root / "second"), str(root / "third"))
    assert looker.capture(Git("a.txt", repository="third")).text == "text\n"


def test_a_root_may_be_named_through_a_link(repo: Repo, root: Path, tmp_path: Path) -> None:
    repo.commit(a__txt="text\n")
    repo.git("worktree", "add", "--quiet", "-b", "side", str(root / "side"))
    (tmp_path / "link").symlink_to(root)
    looker = Looker(limits_of(roots=(str(tmp_path / "link"),), **PATIENT))
    assert looker.capture(Git("a.txt", repository="side")).text == "text\n"


def test_of_several_renamed_files_each_is_found_under_its_own_name(repo: Repo, looker: Looker) -> None:
    other = TEXT.replace("line", "row") + TEXT
    repo.commit(a__txt=TEXT, b__txt=other, c__txt="".join(f"{number}\n" for number in range(90)))
    probes = {name: looker.capture(Git(f"{name}.txt", repository="repo")).probe for name in "abc"}
    repo.commit(a__txt=None, b__txt=None, c__txt=None, d__txt=other + "more\n", e__txt=TEXT + "more\n")
    found = {name: look(looker, probe) for name, probe in probes.items()}
    assert {name: one.probe.path for name, one in found.items()} == {"a": "e.txt", "b": "d.txt", "c": "c.txt"}  # type: ignore[union-attr]
    assert found["c"].outcome is Finding.GONE


REFUSED = {
    "a ref that is an option": ({"ref": "--output=x"}, RecordError, "ref"),
    "a ref that does not exist": ({"ref": "nowhere"}, GoneError, "there is no nowhere"),
    "a path that does not exist": ({"path": "b.txt"}, GoneError, r"\w{12} holds no b\.txt"),
    "a repository above the root": ({"repository": "../x"}, ProbeError, r"path: \.\./x holds \.\."),
    "a path of two lines": ({"path": "a\ncontents HEAD"}, RecordError, "path"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_capturing_is_refused_for(case: str, repo: Repo, looker: Looker) -> None:
    arguments, error, message = REFUSED[case]
    repo.commit(a__txt="text\n")
    with pytest.raises(error, match=f"^{message}"):
        looker.capture(Git(**{"path": "a.txt", "repository": "repo", **arguments}))  # type: ignore[arg-type]
