"""Names of JavaScript, TypeScript, Go and Rust, and what their tools are asked to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from readmit.check.languages import grammars

from .mutations import PROJECTS, Tally, corpus_of, false_alarms, judged
from .project import Project, checked, found, unchecked

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "web/cart.ts": "import { Base } from 'elsewhere';\nexport class Cart { total = 0; addLine(item: string) {} }\n"
    "export interface Props { size: number }\nexport class Odd extends Base {}\nexport const taxOf = () => 1;\n",
    "web/panel.tsx": "import { Panel } from 'widgets';\nexport interface Panel { title: string }\n",
    "pkg/queue/queue.go": "package queue\n\ntype Queue struct{ Name string }\n\nfunc (q *Queue) Take() {}\n",
    "pkg/other/http.go": 'package other\n\nimport "net/http"\n\ntype Wrapped struct{ http.Client }\n',
    "cmd/relayd/main.go": 'package main\n\nimport "github.com/spf13/cobra"\n\n'
    'var a, b = &cobra.Command{Use: "serve"}, &cobra.Command{Use: "drain"}\n',
    "go.mod": "module example.org/shop\n\ngo 1.22\n",
    "src/lib.rs": "pub mod scan;\n#[derive(Debug, Clone)]\npub struct Span { pub start: usize }\n"
    "#[derive(Builder)]\npub struct Made { a: u8 }\nimpl Span { pub fn overlaps(&self) {} }\n",
    "src/scan.rs": "pub fn walk() {}\n",
    "src/main.rs": "fn main() {}\n",
    "Cargo.toml": '[package]\nname = "sift"\n[features]\ngzip = []\n[dependencies]\nserde = "1"\n',
    ".cargo/config.toml": '[alias]\nxtask = "run -p xtask"\n',
    "justfile": 'check:\n    cargo check\nbench size="10":\n    cargo bench\n',
    "compose.yaml": "services:\n  db:\n    image: postgres:16\n",
    "package.json": '{"name": "shop", "scripts": {"dev": "vite", "e2e": "playwright"}, "devDependencies": '
    '{"vitest": "2"}}',
    "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./web/*"]}}}',
    "Makefile": "$(STAMP): setup\n\ttrue\n$(addprefix run-,a b):\n\ttrue\ntest:\n\ttrue\n",
}
WRONG = {
    "a method of TypeScript": ("`Cart.dropLine(x)`", "Cart has no dropLine"),
    "a field of an interface": ("`Props.weight`", "Props has no weight"),
    "a method of Go": ("`Queue.Put`", "Queue has no Put"),
    "a name of a package": ("`queue.OpenQueue`", "the package queue has no OpenQueue"),
    "a method of Rust": ("`Span::touches`", "Span has no touches"),
    "a module of Rust": ("`crate::matcher`", "crate has no matcher"),
    "a name of a crate": ("`sift::scan::run_all`", "sift::scan has no run_all"),
    "an import of TypeScript": ('```ts\nimport { taxFor } from "@/cart";\n```', "web/cart.ts has no taxFor"),
    "a module of TypeScript": ('```ts\nimport { x } from "@/basket";\n```', "there is no module @/basket"),
    "an import of Go": ('```go\nimport "example.org/shop/pkg/store"\n```', "there is no package pkg/store"),
    "a use of Rust": ("```rust\nuse sift::scan::{walk, stop};\n```", "sift::scan has no stop"),
    "a recipe": ("`just deploy`", "no such recipe; it has bench, check"),
    "a feature": ("`cargo build --features zstd`", "cargo has no such features"),
    "a binary": ("`cargo run --bin other`", "cargo has no such bin; it has sift"),
    "a service": ("`docker compose up -d cache`", "no such service; it has db"),
    "a script without run": ("`pnpm test:unit`", "no such script; it has dev, e2e"),
    "a script of a package": ("`pnpm --filter shop run lint`", "no such script"),
    "a subcommand of cobra": ("`relayd purge`", "there is no such command"),
    "a target beside one that begins with $(": ("`make deploy`", "no such target; it has test"),
    "a file of code below an own folder": ("`web/parts/basket.ts` draws it.", "there is no such file"),
    "a name in a file": ("`taxRate` is in `web/cart.ts`.", "web/cart.ts has no taxRate"),
    "an image": ("It runs on Postgres 15.", "compose.yaml declares 16"),
}
RIGHT = (
    "`Cart.addLine`, `Cart.total`, `Props.size`, `Queue.Take`, `queue.Queue`, `Span::overlaps`, `Span::clone`",
    "`crate::scan`, `sift::scan::walk`, `sift::Span`, `Wrapped.Timeout`, `Odd.anything`, `Made::builder`, `Panel.open`",
    'Import it: `import { taxOf } from "@/cart"`, `use sift::scan::walk;`, `import { z } from "zod"`.',
    "`just check`, `just bench 3`, `cargo test -p sift`, `cargo build --features gzip`, `cargo xtask`, `cargo nextest`",
    "`docker compose up db`, `docker compose up`, `pnpm dev`, `pnpm vitest run`, `pnpm install`, `set npm_config_a=b`",
    "`make run-a`, `relayd serve`, `go test ./pkg/...`, `go run ./cmd/relayd drain`, Postgres 16, Go 1.22, serde 1.0",
    "Create `web/parts/new.ts` first. `which make` says where it is. Never use `dangerouslySetInnerHTML`.",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("languages") / "shop", FILES)


@pytest.mark.parametrize("name", WRONG)
def test_what_never_was_here_is_wrong(project: Project, name: str) -> None:
    says, now = WRONG[name]
    report = project.check(says)
    assert [one.now for one in report.findings if now in one.now], (found(report), unchecked(report))
    assert len(report.findings) == 1


@pytest.mark.parametrize("says", RIGHT)
def test_what_is_here_or_may_be_of_another_project_is_not(project: Project, says: str) -> None:
    assert project.check(says).findings == ()


def test_a_memory_file_outside_of_the_tree_is_checked(project: Project, tmp_path: Path) -> None:
    (tmp_path / "memory.md").write_text("`Cart.addLine` and `never_was_here` and `Cart.dropLine`\n")
    report = checked(tmp_path / "memory.md", root=project.root)
    assert found(report) == [("symbol", "Cart.dropLine")]


@pytest.mark.parametrize("language", PROJECTS)
def test_mutations_are_found_and_nothing_else(language: str, tmp_path: Path) -> None:
    corpus = corpus_of(language)
    assert false_alarms(corpus) == []
    tally = Tally()
    for number, mutation in enumerate(corpus.mutations[::8]):
        tally.add(judged(corpus, mutation, tmp_path / str(number), with_history=True))
    assert tally.false == 0
    assert sum(tally.true.values()) >= 0.8 * tally.stale


@pytest.mark.slow
@pytest.mark.parametrize("language", PROJECTS)
@pytest.mark.parametrize("with_history", [True, False])
def test_every_mutation(language: str, with_history: bool, tmp_path: Path) -> None:
    corpus, tally = corpus_of(language), Tally()
    for number, mutation in enumerate(corpus.mutations):
        tally.add(judged(corpus, mutation, tmp_path / str(number), with_history=with_history))
    found_ = sum(tally.true.values())
    assert found_ >= (0.8 if with_history else 0.5) * tally.stale
    assert tally.false <= 0.02 * found_


def test_names_are_read_after_the_time_for_parsing_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [0.0]
    monkeypatch.setattr(grammars, "time", SimpleNamespace(monotonic=lambda: moments[-1]))
    root = grammars.syntax("a.go", "package a\ntype Basket struct {}\n")
    moments.append(60.0)
    assert root is not None
    names = [one.child_by_field_name("name") for one in grammars.inside(root, "type_spec")]
    assert [grammars.said(name) for name in names] == ["Basket"]
