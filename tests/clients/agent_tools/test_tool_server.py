"""The agent's own tools, asked by the official client over stdio, in a project with a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from readmit.clients.agent_tools.tool_inputs import INPUTS

if TYPE_CHECKING:
    from mcp import Client

    from tests.clients.agent_tools.conftest import ToolDesk


def test_the_server_lists_its_tools_and_none_of_the_owners(desk: ToolDesk) -> None:
    async def names(connected: Client) -> dict[str, Any]:
        return {one.name: one.input_schema for one in (await connected.list_tools()).tools}

    listed = desk.connected(names)
    assert list(listed) == list(INPUTS) == ["remember", "recall", "what_changed", "why", "settle", "depart"]
    assert all(schema["additionalProperties"] is False for schema in listed.values())
    assert "pattern" not in str(listed), "providers of models refuse some regular expressions"


def test_a_session_reads_its_view_and_learns_what_fell(desk: ToolDesk) -> None:
    desk.start("one")
    before, nothing = desk.talk(("recall", {"query": "which port"}), ("what_changed", {}))
    assert [item["id"] for item in before["holds"]] == ["port"]
    assert nothing["no_longer_holds"] == []
    moved = desk.workspace.observe("The server moved to port 9000.", by="user", task=desk.project.task)
    desk.workspace.record(
        "The server listens on port 9000.", id="port2", slot="server.port", sources=[moved], by="user",
        task=desk.project.task,
    )  # fmt: skip
    after, changed, why, view = desk.talk(
        ("recall", {"query": "port"}), ("what_changed", {}), ("why", {"item": "port"}), ("read", {})
    )
    assert after["holds"] == []
    assert changed["no_longer_holds"] == [
        {"id": "port", "state": "superseded", "text": "The server listens on port 8080."}
    ]
    assert (why["state"], "9000" in str((changed, why, view))) == ("superseded", False), "it was not handed the new one"
    assert [item["id"] for item in view["holds"]] == ["notes", "ship"]


def test_files_that_changed_since_the_last_look_are_named(desk: ToolDesk) -> None:
    (desk.top / "CLAUDE.md").write_text("# Shop\n\n- Be kind.\n")
    desk.start("one")
    before, _ = desk.talk(("what_changed", {}), ("recall", {}))
    (desk.top / "CLAUDE.md").write_text("# Shop\n\n- Be quick.\n")
    (after,) = desk.talk(("what_changed", {}))
    assert (before["changed_and_not_looked_at"], after["changed_and_not_looked_at"]) == ([], ["CLAUDE.md"])


def test_what_an_agent_remembers_is_a_draft_until_a_person_confirms_it(desk: ToolDesk) -> None:
    who = desk.start("one")
    text = "The tests need Redis."
    (said, again, recalled) = desk.talk(
        ("remember", {"text": text, "slot": "tests"}), ("remember", {"text": text, "slot": "tests"}), ("recall", {})
    )
    assert (said["state"], again["remembered"]) == ("draft", said["remembered"])
    assert [one["text"] for one in recalled["drafts"]] == [text]
    assert text not in [one["text"] for one in recalled["holds"]]
    desk.start("two")
    assert text not in str(desk.talk(("recall", {}))), "a draft is handed to nobody"
    desk.workspace.confirm(said["remembered"], by="user")
    desk.start("three")
    (held,) = desk.talk(("recall", {"query": "redis"}))
    assert [(one["text"], one["by"]) for one in held["holds"]] == [(text, who)]


def test_what_only_a_tool_said_is_not_handed_out(desk: ToolDesk) -> None:
    said, where = "The launch is in May.", desk.project.task
    printed = desk.workspace.observe(said, by="codex:x", source="tool_result", task=where)
    desk.workspace.record(said, id="launch", by="codex:x", sources=[printed], task=where)
    desk.start("one")
    recalled, why = desk.talk(("recall", {}), ("why", {"item": "launch"}))
    desk.workspace.revoke("launch", by="codex:x")
    (changed,) = desk.talk(("what_changed", {}))
    assert why == desk.talk(("why", {"item": "nope"}))[0]
    assert "launch" not in str((recalled, changed))
    assert [one["id"] for one in recalled["holds"]] != []


def test_settle_proposes_and_ends_nothing(desk: ToolDesk) -> None:
    desk.start("one")
    (proposed, again) = desk.talk(
        ("settle", {"duty": "notes", "reason": "The notes are in NOTES.md."}), ("recall", {"query": "notes"})
    )
    assert (proposed["duty"], proposed["state"]) == ("notes", "draft")
    assert "notes" in [one["id"] for one in again["holds"]], "the duty is still owed"


def test_after_departing_nothing_is_handed_out(desk: ToolDesk) -> None:
    desk.start("one")
    left, *refused = desk.talk(
        ("depart", {}), ("recall", {}), ("remember", {"text": "It rains."}), ("what_changed", {})
    )
    assert "departed" in left
    assert all("its next start" in one for one in refused)


SECRET = "The password is hunter2hunter2 and the key is AKIAIOSFODNN7EXAMPLQ."
HOSTILE: dict[str, tuple[str, dict[str, Any], str]] = {
    "huge text": ("remember", {"text": "x" * 5_000_000}, "remember.text: use at most 400"),
    "control characters": ("remember", {"text": "a\x1b[2Jb"}, "remember.text: it holds control"),
    "hidden text": ("remember", {"text": "a\u202eb"}, "remember.text: it holds control"),
    "another principal": ("remember", {"text": "It rains.", "by": "user"}, "remember.by: remember has no such field"),
    "confirmed by itself": ("remember", {"text": "It rains.", "drafted": None}, "no such field"),
    "wrong type": ("remember", {"text": ["It rains."]}, "remember.text: Expected `str`"),
    "no text": ("remember", {}, "remember.text: required"),
    "a question": ("remember", {"text": "Shall we deploy?"}, "text: it is no plain statement"),
    "a secret": ("remember", {"text": SECRET}, "text: it may hold a secret"),
    "a slot with a line": ("remember", {"text": "It rains.", "slot": "a\nb"}, "remember.slot"),
    "too many": ("recall", {"limit": 10**12}, "recall.limit: Expected `int` <= 40"),
    "a negative number": ("recall", {"limit": -1}, "recall.limit"),
    "as somebody else": ("recall", {"principal": "user"}, "recall.principal: recall has no such field"),
    "an unknown item": ("why", {"item": "nope"}, "why.item: This session was handed nothing"),
    "a path": ("why", {"item": "../../etc/passwd"}, "why.item: This session was handed nothing"),
    "a private item": ("why", {"item": "@user/secret"}, "why.item: This session was handed nothing"),
    "another's duty": ("settle", {"duty": "port", "reason": "It is done."}, "settle.duty: This session was handed"),
    "revoke": ("revoke", {"target": "port"}, "tool: 'revoke' is not one of"),
    "approve": ("approve", {"waiting": "w"}, "tool: 'approve' is not one of"),
    "overrule": ("overrule", {"target": "port", "reason": "now", "expires": "2099-01-01"}, "tool: 'overrule'"),
    "confirm": ("confirm", {"item": "port"}, "tool: 'confirm' is not one of"),
    "govern": ("govern", {"policy": {}}, "tool: 'govern' is not one of"),
}


def test_hostile_calls_change_nothing_and_name_the_field(desk: ToolDesk) -> None:
    desk.start("one")
    desk.workspace.record(
        "The launch is secret.", id="@user/secret", by="user", principals=["user"], private=True,
        sources=[desk.workspace.observe("The launch is secret.", by="user", principals=["user"])],
    )  # fmt: skip
    before = desk.workspace.epoch
    answers = dict(zip(HOSTILE, desk.talk(*((name, given) for name, given, _ in HOSTILE.values())), strict=True))
    for case, (_, _, expected) in HOSTILE.items():
        assert isinstance(answers[case], str), f"{case} was let through: {answers[case]}"
        assert expected in answers[case], case
        assert len(answers[case]) < 1_000, case
    assert desk.workspace.epoch == before, "nothing was written"
    private, unknown = answers["a private item"], answers["an unknown item"]
    assert private == unknown, "what is withheld and what does not exist get the same answer"


def test_another_session_or_client_is_never_taken_for_this_one(desk: ToolDesk) -> None:
    desk.start("one", client="codex")
    (refused,) = desk.talk(("recall", {}))
    assert refused.startswith("session: no session of claude-code was started here"), refused
    desk.start("two")
    desk.start("three")
    (said,) = desk.talk(("remember", {"text": "It rains."}))
    assert desk.workspace.admin.log.item(said["remembered"]).by == "claude-code:three", "the newest"


def test_without_a_store_the_tools_refuse_with_a_sentence(desk: ToolDesk) -> None:
    desk.start("one")
    desk.workspace.close()
    desk.project.store.unlink()
    (refused,) = desk.talk(("recall", {}))
    assert refused.startswith("project: nothing is remembered here yet")
    assert not desk.project.store.exists()


@pytest.mark.parametrize("given", ["readmit://view/../x", "file:///etc/passwd"])
def test_there_is_one_resource(desk: ToolDesk, given: str) -> None:
    from mcp import MCPError

    async def read(connected: Client) -> str:
        with pytest.raises(MCPError) as refused:
            await connected.read_resource(given)
        return str(refused.value)

    assert "the only resource is readmit://view" in desk.connected(read)
