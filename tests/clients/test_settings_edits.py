"""Pieces go into settings and come out again, and nothing else changes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from readmit.clients.setup.json_spans import parsed
from readmit.clients.setup.settings_edits import ClientSettings, Piece
from readmit.errors import SettingsError

HOOK = Piece(("hooks", "SessionStart"), {"hooks": [{"type": "command", "command": "ours", "timeout": 5}]}, is_hook=True)
SERVER = Piece(("mcpServers", "readmit"), {"type": "stdio", "command": "python", "args": ["-m", "readmit"]})
TABLE = Piece(("mcp_servers", "readmit"), {"command": "python", "args": ["-m", "readmit"]})

THEIRS = {
    "nothing": "",
    "an empty object": "{}",
    "an empty object and a line break": "{}\n",
    "one line": '{"a":1}',
    "two spaces": '{\n  "a": 1.50,\n  "é": "\\u00e9"\n}\n',
    "tabs": '{\n\t"a": 1\n}',
    "four spaces, Windows line breaks": '{\r\n    "a": 1,\r\n    "b": [1, 2]\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "comments": '// mine\n{\n  "a": 1, // about a\n  /* b */ "b": 2 // last\n  // the end\n}\n',
    "trailing commas": '{\n  "a": [\n    1, // one\n  ],\n}\n',
    "hooks of their own": '{\n  "hooks": {\n    "SessionStart": [\n      {"hooks": []} // mine\n    ]\n  }\n}\n',
    "empty hooks": '{\n  "hooks": {},\n  "mcpServers": {\n  }\n}\n',
    "hooks on one line": '{\n  "hooks": {"SessionStart": []}\n}\n',
    "a server of their own": '{\n  "mcpServers": {"other": {"command": "x"}}\n}\n',
}  # fmt: skip


@pytest.mark.parametrize("theirs", THEIRS)
def test_what_goes_in_comes_out_again(theirs: str) -> None:
    before = ClientSettings(Path("settings.json"), THEIRS[theirs])
    after = before.with_piece(HOOK).with_piece(SERVER)
    assert after.at(("hooks", "SessionStart"))[-1] == HOOK.value
    assert after.at(("mcpServers", "readmit")) == SERVER.value
    back = after.without_piece(HOOK).without_piece(SERVER)
    for path in (("hooks", "SessionStart"), ("hooks",), ("mcpServers",)):
        if before.at(path) is None:
            back = back.without_empty(path)
    collapsed = THEIRS[theirs].replace("{\n  }", "{}")  # an empty object takes no line
    assert back.text == (collapsed or "{}\n")


def test_the_layout_of_the_file_is_kept() -> None:
    text = THEIRS["comments"]
    assert ClientSettings(Path("s.json"), text).with_piece(Piece(("mcp",), {"x": [1]})).text == (
        '// mine\n{\n  "a": 1, // about a\n  /* b */ "b": 2, // last\n  "mcp": {\n    "x": [\n      1\n    ]\n  }\n'
        "  // the end\n}\n"
    )


_KEYS = st.sampled_from(["a", "hooks", "SessionStart", "mcpServers", "readmit", 'q"uo\\te', "é"])
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(
    value=st.dictionaries(_KEYS, _VALUES, max_size=4),
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    piece=st.sampled_from([HOOK, SERVER, Piece(("a",), 1), Piece(("new", "deep", "er"), {"x": []})]),
)
def test_any_settings_hold_the_piece_and_all_that_they_held(value: Any, indent: Any, piece: Piece) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    before = ClientSettings(Path("s.json"), text)
    try:
        after = before.with_piece(piece)
    except SettingsError:  # where a container is of another kind
        assume(condition=False)
    assert after.holds(piece)
    expected = json.loads(text)
    place = expected
    for key in piece.path[:-1]:
        place = place.setdefault(key, {})
    if piece.is_hook:
        place.setdefault(piece.path[-1], []).append(piece.value)
    else:
        place[piece.path[-1]] = piece.value
    assert after.value == expected == json.loads(after.text or "")


TOML = {
    "nothing": "",
    "comments": '# mine\nmodel = "x" # why\n',
    "other servers": 'model="x"\n[mcp_servers.a]\ncommand="b"  # c\n\n[projects."/x"]\ntrust_level = "trusted"\n',
    "an inline table": 'mcp_servers = {a={command="x"}}\n',
    "dotted keys": 'mcp_servers.a.command="b"\n[z]\nq=1\n',
    "tables in no order": "[mcp_servers.a]\nx=1\n[z]\ny=1\n[mcp_servers.b]\nx=2 # h\n[zz]\n",
}


@pytest.mark.parametrize("theirs", TOML)
def test_a_table_goes_in_and_comes_out_again(theirs: str) -> None:
    before = ClientSettings(Path("config.toml"), TOML[theirs])
    after = before.with_piece(TABLE)
    assert tomllib.loads(after.text or "")["mcp_servers"]["readmit"] == TABLE.value
    back = after.without_piece(TABLE)
    lines = [line for line in (back.text or "").splitlines() if line]
    assert lines == [line for line in TOML[theirs].splitlines() if line]


def test_a_hook_that_its_user_moved_and_changed_is_found_again() -> None:
    text = json.dumps(
        {
            "hooks": {
                "SessionStart": [
                    {"hooks": [{"command": "theirs"}, {"command": "ours", "timeout": 99}]},
                    {"matcher": "resume", "hooks": [{"command": "ours"}]},
                ]
            }
        }
    )
    found = ClientSettings(Path("s.json"), text).without_piece(HOOK)
    assert found.value == {"hooks": {"SessionStart": [{"hooks": [{"command": "theirs"}]}]}}


BROKEN = {
    "a missing comma": ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or } is expected"),
    "no end": ('{"a": [1, 2', "line 1, column 12: a comma or ] is expected"),
    "a bare key": ("{a: 1}", "line 1, column 2: a key in double quotes is expected"),
    "no value": ('{"a": }', "line 1, column 7: a value is expected"),
    "more than an object": ('{"a": 1} {', "line 1, column 10: the text goes on after its end"),
    "an open string": ('{"a": "b', "line 1, column 7: Unterminated string"),
    "a list": ("[1]", "it holds no object"),
    "deep": ("[" * 5_000, "more than 100 levels"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_malformed_file_is_refused_with_the_place(what: str, tmp_path: Path) -> None:
    text, said = BROKEN[what]
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(SettingsError) as raised:
        ClientSettings.read(file)
    assert str(raised.value).startswith(f"{file}: ")
    assert said in str(raised.value)
    assert "nothing was changed" in str(raised.value)


def test_a_malformed_toml_file_is_refused_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("a = 1\nb = \n")
    with pytest.raises(SettingsError, match=r"line 2, column 5"):
        ClientSettings.read(file)


@given(_VALUES, st.sampled_from([None, 1, "\t"]))
def test_values_are_read_as_json_reads_them(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    assert parsed(text).value == json.loads(text)
