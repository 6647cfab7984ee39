"""Edits a JSON text in place: values are put in and taken out, and everything else stays as its author wrote it.

Clients let people comment their settings, and ``json`` would lose the comments, the indentation and the spelling of
numbers. Here a text is parsed into nodes that know where they stand. Comments and trailing commas are accepted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:\ufeff|[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)?(?=[ \t]*\r?\n)")
_LINE_END = re.compile(r"[ \t]*\r?\n")
_BLANK = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST = 100
_DECODER = json.JSONDecoder()


class JsonTextError(ValueError):
    """A text is no JSON; the message says where."""

    def __init__(self, why: str, text: str, position: int) -> None:
        line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
        super().__init__(f"line {line}, column {column}: {why}")


@dataclass(frozen=True)
class Node:
    """A value and where it stands. ``at`` is where its key begins, if it is a member, or else where it does itself."""

    value: Any
    at: int
    start: int
    end: int
    members: dict[str, Node] = field(default_factory=dict)
    children: tuple[Node, ...] = ()
    """The members or elements, in order."""
    commas: tuple[int, ...] = ()
    """Positions of the commas between them, and of one after the last."""


def parsed(text: str) -> Node:
    """The nodes of a text. An empty text is an empty object."""
    start = _after_space(text, 0)
    if start == len(text):
        return Node({}, start, start, start)
    node = _value(text, start, start, 0)
    if (end := _after_space(text, node.end)) != len(text):
        raise JsonTextError("the text goes on after its end", text, end)
    return node


def with_value(text: str, path: tuple[str, ...], value: object, *, append: bool = False) -> str:
    """The text with a member at a path of keys, or one more element in the list there. Makes missing containers."""
    node, depth = parsed(text), 0
    if node.start == node.end:
        text = f"{text}{{}}\n"
        node = parsed(text)
    while depth < len(path) and path[depth] in node.members:
        node, depth = node.members[path[depth]], depth + 1
    if depth == len(path) and not append:
        return _spliced(text, [(node.start, node.end, _Style(text).dumped(value, _indent_at(text, node.at)))])
    if not isinstance(node.value, list if depth == len(path) else dict):
        kind = "list" if depth == len(path) else "object"
        raise JsonTextError(f"{'.'.join(path[:depth]) or 'the whole text'} is no {kind}", text, node.start)
    new = [value] if append and depth < len(path) else value
    for key in reversed(path[depth + 1 :]):
        new = {key: new}
    return _added(text, node, new, key=path[depth] if depth < len(path) else "")


def without(text: str, path: tuple[str | int, ...]) -> str:
    """The text without the member or element at a path."""
    parent = parsed(text)
    for step in path[:-1]:
        parent = _child(parent, step)
    gone = _child(parent, path[-1])
    place = parent.children.index(gone)
    end = parent.commas[place] + 1 if len(parent.commas) > place else gone.end
    begin = gone.at
    while text[begin - 1] in " \t\r\n":
        begin -= 1
    if "//" in text[text.rfind("\n", 0, begin) + 1 : begin] and not _LINE_END.match(text, end):
        begin = gone.at  # what follows must not become part of that comment
    edits = [(begin, end, "")]
    if end == gone.end and place:
        edits.append((parent.commas[place - 1], parent.commas[place - 1] + 1, ""))
    if len(parent.children) == 1 and _is_blank_around(text, parent, gone):
        edits = [(parent.start + 1, parent.end - 1, "")]
    return _spliced(text, edits)


def _child(parent: Node, step: str | int) -> Node:
    return parent.children[step] if isinstance(step, int) else parent.members[step]


def _is_blank_around(text: str, parent: Node, only: Node) -> bool:
    """Whether nothing but white space is around the only child: no comment."""
    after = parent.commas[-1] + 1 if parent.commas else only.end
    return bool(_BLANK.fullmatch(text, parent.start + 1, only.at) and _BLANK.fullmatch(text, after, parent.end - 1))


def _added(text: str, parent: Node, value: object, *, key: str = "") -> str:
    """The text with one more member, or element if there is no key, at the end of an object or a list."""
    style = _Style(text)
    before = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
    if not parent.children:
        if style.on_one_line:
            return _spliced(text, [(parent.end - 1, parent.end - 1, before + style.dumped(value, ""))])
        outer = _indent_at(text, parent.at)
        indent = outer + style.unit
        new = f"{style.newline}{indent}{before}{style.dumped(value, indent)}{style.newline}{outer}"
        blank = _BLANK.fullmatch(text, parent.start + 1, parent.end - 1)
        return _spliced(text, [(parent.start + 1 if blank else parent.end - 1, parent.end - 1, new)])
    first, last = parent.children[0], parent.children[-1]
    ended = len(parent.commas) == len(parent.children)
    if "\n" not in text[parent.start : first.at]:
        place = parent.commas[-1] + 1 if ended else last.end
        new = f"{before}{json.dumps(value, ensure_ascii=False)}"
        return _spliced(text, [(place, place, f" {new}," if ended else f", {new}")])
    indent = _indent_at(text, first.at)
    new = f"{style.newline}{indent}{before}{style.dumped(value, indent)}{',' if ended else ''}"
    # After a comment on the same line, which is about the last one.
    rest = _SAME_LINE.match(text, parent.commas[-1] + 1 if ended else last.end)
    place = rest.end() if rest is not None else last.end
    comma = [] if ended else [(last.end, last.end, ",")]
    return _spliced(text, [(place, place, new), *comma])


class _Style:
    """The layout of a JSON text: its line ends and its indent."""

    def __init__(self, text: str) -> None:
        self.on_one_line = "\n" not in text.strip() and text.strip() != "{}"
        self.newline = "\r\n" if "\r\n" in text else "\n"
        found = re.search(r"\{[^\n]*\n([ \t]+)\S", text)
        self.unit = found[1] if found else "  "

    def dumped(self, value: object, indent: str) -> str:
        if self.on_one_line:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return lines.replace("\n", self.newline + indent)


def _indent_at(text: str, position: int) -> str:
    """The white space that the line of a position begins with."""
    found = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, position) + 1)
    return found[0] if found else ""


def _spliced(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with some spans replaced. Of two at one place, the later in the list comes first."""
    for start, end, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _value(text: str, at: int, start: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise JsonTextError(f"more than {_DEEPEST} levels", text, start)
    letter = text[start : start + 1]
    if letter in ("{", "["):
        return _container(text, at, start, depth)
    if letter == '"':
        value, end = _string(text, start)
        return Node(value, at, start, end)
    if (found := _SCALAR.match(text, start)) is None:
        raise JsonTextError("a value is expected", text, start)
    return Node(json.loads(found[0]), at, start, found.end())


def _container(text: str, at: int, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    close = "}" if is_object else "]"
    children: list[Node] = []
    keys: list[str] = []
    commas: list[int] = []
    here = _after_space(text, start + 1)
    while text[here : here + 1] != close:
        if children:
            if len(commas) < len(children):
                raise JsonTextError(f"a comma or {close} is expected", text, here)
        elif text[here : here + 1] == ",":
            raise JsonTextError("a value is expected", text, here)
        begin = here
        if is_object:
            if text[here : here + 1] != '"':
                raise JsonTextError("a key in double quotes is expected", text, here)
            key, here = _string(text, here)
            keys.append(key)
            here = _after_space(text, here)
            if text[here : here + 1] != ":":
                raise JsonTextError("a colon is expected", text, here)
            here = _after_space(text, here + 1)
        child = _value(text, begin, here, depth + 1)
        children.append(child)
        here = _after_space(text, child.end)
        if text[here : here + 1] == ",":
            commas.append(here)
            here = _after_space(text, here + 1)
    # Of a key that is there twice, the last one counts, as in every client.
    members = dict(zip(keys, children, strict=True)) if is_object else {}
    value = {key: child.value for key, child in members.items()} if is_object else [child.value for child in children]
    return Node(value, at, start, here + 1, members, tuple(children), tuple(commas))


def _string(text: str, start: int) -> tuple[str, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise JsonTextError(error.msg, text, error.pos) from None
    return str(value), end
