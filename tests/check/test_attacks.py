"""A memory file, and the repository that it is in, may be a stranger's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from readmit.errors import RecordError

from .project import Project, checked, found, unchecked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "shop")


def test_nothing_outside_of_the_root_is_looked_for(project: Project) -> None:
    secret = project.root.parent / "secret.md"
    secret.write_text("# Secret\n")
    (project.root / "out").symlink_to(project.root.parent)
    says = (
        "[up](../secret.md) `../secret.md` [link](out/secret.md#secret) `/etc/passwd` `out/secret.md` [nul](a%00b.md)"
    )
    report = project.check(says)
    assert found(report) == [("link", "out/secret.md")], "what is behind a link is not in the tree"
    assert report.held == 0
    assert unchecked(report)["/etc/passwd"] == "outside of the tree"


def test_hooks_and_helpers_of_the_repository_do_not_run(project: Project) -> None:
    trap = project.root.parent / "sprung"
    evil = project.root / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    evil.chmod(0o755)
    for name, value in {
        "core.fsmonitor": str(evil),
        "core.pager": str(evil),
        "core.hooksPath": str(project.root),
        "diff.external": str(evil),
        "diff.evil.textconv": str(evil),
        "filter.evil.clean": str(evil),
        "filter.evil.smudge": str(evil),
        "grep.fallbackToNoIndex": "true",
    }.items():
        project.git("config", name, value)
    (project.root / ".gitattributes").write_text("* diff=evil filter=evil\n")
    (project.root / "src/shop/cart.py").write_text("changed = 1\n")
    trap.unlink(missing_ok=True)
    report = project.check("`src/shop/cart.py` `dist/x` `gone_name` `src/shop/none.py` `Cart.add_line` `--none`")
    assert report.statements == 1
    assert not trap.exists()


def test_special_files_in_the_tree_are_not_read(project: Project) -> None:
    os.mkfifo(project.root / "pipe.py")
    (project.root / "zero.py").symlink_to("/dev/zero")
    (project.root / "loop").symlink_to(".")
    assert found(project.check("`some_symbol_here` is in `loop/loop/src/shop/cart.py`")) == []


def test_a_memory_file_that_is_a_pipe_is_refused(project: Project) -> None:
    os.mkfifo(project.root / "CLAUDE.md")
    with pytest.raises(RecordError, match="no such file"):
        checked(project.root / "CLAUDE.md")


def test_a_name_cannot_become_an_option_or_a_pattern_of_git(project: Project) -> None:
    name = ":(exclude)*.md"
    (project.root / name).write_text("`--upload-pack` `--output=x` `-c` `.*` `(a|b)+` `a$(touch x)b` [x](--help)\n")
    (project.root / "-memory.md").write_text("`add_line`\n")
    report = checked(project.root / name, project.root / "-memory.md")
    assert [one for one in found(report) if one[0] != "link"] == []
    assert not (project.root / "x").exists()


def test_a_long_memory_file_is_read_and_a_huge_one_refused(project: Project) -> None:
    lines = (f"- `name_{number}` in `src/shop/file_{number}.py` [x](#a{number})" for number in range(3_000))
    assert project.check("\n".join(lines)).statements == 3_000
    (project.root / "CLAUDE.md").write_text("x" * 6_000_000)
    with pytest.raises(RecordError, match="larger than"):
        checked(project.root / "CLAUDE.md")


def test_deep_nesting_ends(project: Project) -> None:
    assert project.check("> " * 5_000 + "`add_line`\n" + "[" * 5_000 + "`" * 3_001).files == ("CLAUDE.md",)
