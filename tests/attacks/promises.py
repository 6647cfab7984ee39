"""The promises of SECURITY.md, the campaign that attacks each, and the tests that do.

``python -m tests.attacks`` (``make attack``) runs them and writes what came of it into SECURITY.md; ``test_promises``
fails if a promise names no attack, if an attack is not there, or if the page names others.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Not from conftest: pytest has to import that itself, before anybody else does.
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "SECURITY.md"
MARKERS = "<!-- generated: attacks -->", "<!-- end: attacks -->"
HEAD = "promise", "campaign", "attacks", "attempts", "on a server", "broke it"
CAMPAIGNS = {
    "file": "the database without its keys",
    "writer": "a member of the team",
    "content": "texts, and models that read them",
    "probes": "sources that are looked at again",
    "resources": "much of everything, and crashes",
}


class Promise(NamedTuple):
    """One promise, and who tries to break it."""

    campaign: str
    attacks: tuple[str, ...]
    """Below ``tests``: a file, or a test or class of one. What is named by itself is not counted with its file."""


PROMISES: dict[str, Promise] = {
    "S1": Promise(
        "file",
        (
            "attacks/test_tampering.py",
            "attacks/test_edited_tables.py",
            "attacks/test_fuzzed_rows.py",
            "attacks/test_hidden_rows.py",
            "attacks/test_file_attacker.py",
            "attacks/test_kept_state.py",
            "attacks/test_boundaries.py::test_a_damaged_page_blocks_a_return_or_refuses_to_open",
            "attacks/test_views.py::test_an_altered_or_shortened_audit_does_not_verify",
            "attacks/test_views.py::test_an_altered_log_does_not_verify",
            "attacks/test_views.py::test_the_log_and_the_audit_are_append_only_for_other_programs_too",
            "attacks/test_writers.py::test_hiding_a_key_or_a_signature_hands_nothing_over",
            "log/test_schema.py::test_another_schema_on_a_server_is_refused_by_the_name_of_the_object",
        ),
    ),
    "S2": Promise(
        "file",
        (
            "attacks/test_replaced_stores.py",
            "attacks/test_boundaries.py::test_the_signed_head_that_a_user_keeps_shows_a_restored_backup",
            "attacks/test_boundaries.py::test_a_consumed_view_stays_consumed_when_a_backup_is_restored",
            "attacks/test_boundaries.py::test_a_file_that_is_not_ours_is_refused_and_left_alone",
            "attacks/test_boundaries.py::test_a_schema_of_another_version_is_refused_and_left_as_it_is",
            "attacks/test_file_attacker.py::test_a_copy_of_the_file_alone_while_it_is_in_use_is_refused",
            "attacks/test_views.py::test_a_view_is_unknown_to_a_backup_from_before_it",
            "attacks/test_views.py::test_a_store_rolled_back_under_a_view_refuses_it",
            "log/test_postgres.py::test_a_consumed_view_stays_consumed_when_a_backup_is_restored",
            "trust/witness/test_witness.py",
        ),
    ),
    "S3": Promise(
        "writer",
        (
            "attacks/test_writers.py",
            "attacks/test_rights.py",
            "attacks/test_reserved_names.py",
            "attacks/test_hidden_ids.py",
            "attacks/test_writing.py",
            "writing/test_limits.py",
            "writing/test_waiting.py",
        ),
    ),
    "S4": Promise(
        "writer",
        (
            "attacks/test_views.py",
            "attacks/test_boundaries.py",
            "attacks/test_writing.py::test_the_only_texts_an_agent_is_handed_are_in_the_bundle",
            "attacks/test_writing.py::test_a_private_bank_is_closed_from_departure_to_exposure",
            "attacks/test_writing.py::test_another_task_of_the_same_principal_is_no_back_door_to_its_bank",
            "returning/test_delivery.py",
        ),
    ),
    "S5": Promise(
        "writer",
        (
            "attacks/test_boundaries.py::test_two_tenants_in_one_store_share_nothing",
            "attacks/test_boundaries.py::test_nothing_of_another_tenant_can_be_named",
            "attacks/test_boundaries.py::test_a_view_of_one_tenant_does_not_open_in_another",
            "log/test_postgres.py::test_a_plain_connection_sees_one_workspace_or_none",
            "log/test_postgres.py::test_a_plain_connection_writes_to_one_workspace_or_none",
            "server/inspector/test_pages_served.py::test_another_teams_workspace_is_like_one_that_is_not_there",
        ),
    ),
    "S6": Promise("file", ("backends/test_scopedmem.py::TestScopedMem",)),
    "S7": Promise("file", ("attacks/test_checkpoints.py",)),
    "S8": Promise(
        "content",
        (
            "attacks/test_injection.py",
            "attacks/test_drafts.py",
            "attacks/test_wordings.py",
            "attacks/test_writing.py::test_injected_text_by_itself_decides_nothing",
            "attacks/test_writing.py::test_a_fooled_verifier_cannot_put_an_item_in",
            "attacks/test_writing.py::test_a_fooled_second_verifier_cannot_take_back_a_confirmed_invalidation",
            "attacks/test_writing.py::test_a_fooled_verifier_cannot_confirm_what_code_does_not_find",
            "properties/test_monotone.py",
        ),
    ),
    "S9": Promise(
        "content",
        (
            "attacks/test_printed_commands.py",
            "attacks/test_boundaries.py::test_a_hostile_text_cannot_leave_its_block",
            "attacks/test_boundaries.py::test_an_explanation_is_safe_to_print",
            "trust/test_render.py::test_no_ignorable_character_passes_but_the_joiners",
            "server/inspector/test_pages_served.py::test_hostile_texts_stay_texts",
        ),
    ),
    "S10": Promise(
        "probes",
        (
            "attacks/test_probes.py",
            "attacks/test_repositories.py",
            "sources/test_commands.py::test_a_sandboxed_command_writes_nothing_and_reaches_no_network",
            "sources/test_commands.py::test_a_sandboxed_command_cannot_open_its_sandbox",
        ),
    ),
    "S11": Promise(
        "resources",
        (
            "attacks/test_large_returns.py",
            "attacks/test_writing.py::test_one_writer_cannot_retire_everything",
            "attacks/test_writing.py::test_one_writer_cannot_suspect_everything",
            "attacks/test_writing.py::test_poison_in_bulk_neither_enters_nor_crowds_out",
        ),
    ),
    "S12": Promise("resources", ("attacks/test_hostile_repository.py",)),
    "S13": Promise(
        "resources",
        (
            "attacks/test_boundaries.py::test_a_full_disk_loses_nothing_acknowledged",
            "attacks/test_boundaries.py::test_nothing_is_handed_over_by_an_exposure_that_is_rolled_back",
            "crash/test_kill.py",
            "crash/test_campaign.py::test_writers_killed_again_and_again_lose_nothing",
            "log/test_full_disks.py",
        ),
    ),
    "S14": Promise("content", ("clients/moments/test_hostile_hooks.py",)),
    "S15": Promise(
        "writer",
        (
            "attacks/test_credentials.py",
            "server/access/test_api_keys.py",
            "server/access/test_issued_tokens.py",
            "server/access/test_entrance.py",
            "server/test_http_server.py",
            "server/inspector/test_sessions.py",
        ),
    ),
}
# The tests of the attacks' own tools, and the one that holds this list to the page.
NO_ATTACK = {"attacks/test_promises.py"}


def promise_of(node: str) -> str:
    """The promise that a test tries to break, by its node id; empty if none names it."""
    plain = node.removeprefix("tests/").partition("[")[0]
    parts = plain.split("::")
    for size in range(len(parts), 0, -1):
        name = "::".join(parts[:size])
        for key, promise in PROMISES.items():
            if name in promise.attacks:
                return key
    return ""


def defined(file: str) -> set[str]:
    """Names of the tests and test classes of a file below ``tests``."""
    path = ROOT / "tests" / file
    if not path.is_file():
        return set()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {
        one.name
        for one in body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and one.name.startswith(("test_", "Test"))
    }


class Tried(NamedTuple):
    """How often a promise was tried, and what came of it."""

    attempts: int = 0
    server: int = 0
    """Attempts on a PostgreSQL server; the others need no store, or a file."""
    broke: int = 0

    def row(self) -> tuple[str, str, str]:
        return f"{self.attempts:,}", f"{self.server:,}", f"{self.broke:,}"


def table(tried: Mapping[str, Tried] | None = None) -> str:
    """Promise by promise; without its figures if nothing was tried."""
    lines: list[tuple[str, ...]] = [HEAD, ("---",) * len(HEAD)]
    for key, promise in PROMISES.items():
        figures = tried.get(key, Tried()).row() if tried is not None else ("", "", "")
        lines.append((key, promise.campaign, ", ".join(map(_shown, promise.attacks)), *figures))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _shown(attack: str) -> str:
    name = attack.partition("::")[2]
    return f"`{name}`" if name.startswith("test_") else f"`tests/{attack}`"


Share = tuple[int, int]
"""How many sentences came out right, of how many."""


def shares(found: Mapping[str, Share]) -> str:
    """What a lying extractor makes of sentences, set by set."""
    lines = [("sentences", "made", "came out right"), ("---",) * 3]
    lines += [(name, f"{of:,}", f"{right / of:.1%}") for name, (right, of) in sorted(found.items())]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rewritten(table: str) -> str:
    """The page with this table in it."""
    start, end = MARKERS
    before, rest = PAGE.read_text(encoding="utf-8").split(start)
    return f"{before}{start}\n\n{table}\n\n{end}{rest.split(end)[1]}"


def written() -> list[list[str]]:
    """The cells of the table on the page, without its head."""
    start, end = MARKERS
    first = PAGE.read_text(encoding="utf-8").partition(start)[2].partition(end)[0].strip().partition("\n\n")[0]
    lines = first.splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def promised() -> list[str]:
    """The ids of the promises on the page, in its order."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## What is promised\n")[2].partition("\n## ")[0]
    return [found[1] for found in re.finditer(r"^\| (?!against|---)([^|]*?) \|", section, re.MULTILINE)]
