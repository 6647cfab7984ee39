"""Types of JavaScript, TypeScript, Go and Rust, with the members that their declarations give them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from readmit.check.languages.grammars import grammar_of, inside, said, syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_STANDARD = {
    "Debug", "Clone", "Copy", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash", "Default", "Display", "Error", "From",
    "Into", "TryFrom", "FromStr", "AsRef", "Borrow", "Deref", "DerefMut", "Drop", "Iterator", "IntoIterator", "Send",
    "Sync", "Serialize", "Deserialize", "Parser", "Subcommand", "Args", "ValueEnum",
}  # fmt: skip
"""Traits whose methods have the names below, so that an implementation leaves no doubt about other names."""
_FAMILIAR = {
    "clone", "clone_from", "eq", "ne", "cmp", "partial_cmp", "lt", "le", "gt", "ge", "max", "min", "clamp", "hash",
    "default", "fmt", "to_string", "source", "description", "from", "into", "try_from", "try_into", "from_str",
    "as_ref", "borrow", "deref", "deref_mut", "drop", "next", "iter", "into_iter", "serialize", "deserialize", "parse",
    "try_parse", "parse_from", "try_parse_from", "command", "update_from", "value_variants", "to_possible_value",
    "type_id", "to_owned", "constructor", "prototype", "name", "length", "call", "apply", "bind", "toString", "toJSON",
    "valueOf", "hasOwnProperty", "Item", "Err", "Output", "Target", "Error", "IntoIter", "message", "stack", "cause",
}  # fmt: skip
"""Members that a type may have without a declaration."""


@dataclass
class DeclaredType:
    """Members of a type over all its declarations in a tree."""

    members: set[str] = field(default_factory=set)
    bases: set[str] = field(default_factory=set)
    is_open: bool = False
    """Whether it may have members that no declaration shows."""

    def lacks(self, member: str) -> bool:
        return not self.is_open and member not in self.members and member not in _FAMILIAR


def declared_types(path: str, text: str) -> Iterator[tuple[str, DeclaredType]] | None:
    """The types of a file, each as far as one declaration shows it; none if the file cannot be read in time."""
    root = syntax(path, text)
    if root is None:
        return None
    match grammar_of(path):
        case ".go":
            return _go(root)
        case ".rs":
            return _rust(root)
    return _script(root)


def _names(nodes: Iterator[Node], key: str = "name") -> set[str]:
    return {said(one.child_by_field_name(key)) for one in nodes} - {""}


def _go(root: Node) -> Iterator[tuple[str, DeclaredType]]:
    for one in inside(root, "type_spec"):
        name, kind = said(one.child_by_field_name("name")), one.child_by_field_name("type")
        if kind is None:
            continue
        if kind.type not in {"struct_type", "interface_type"}:
            yield name, DeclaredType(is_open=True)
            continue
        fields = list(inside(kind, "field_declaration"))
        members = {said(part) for one in fields for part in one.children_by_field_name("name")}
        embedded = any(not one.children_by_field_name("name") for one in fields)
        methods = _names(inside(kind, "method_elem", "method_spec"))
        yield (
            name,
            DeclaredType(members | methods, is_open=embedded or any(inside(kind, "type_elem", "constraint_elem"))),
        )
    for one in inside(root, "method_declaration"):
        receiver = one.child_by_field_name("receiver")
        for of in inside(receiver, "type_identifier") if receiver else ():
            yield said(of), DeclaredType({said(one.child_by_field_name("name"))})
            break


def _rust(root: Node) -> Iterator[tuple[str, DeclaredType]]:
    for one in inside(root, "struct_item", "enum_item", "union_item", "trait_item", "type_item"):
        body = one.child_by_field_name("body")
        found = DeclaredType(is_open=one.type == "type_item" or bool(_derived(one) - _STANDARD))
        if body is not None:
            found.members |= _names(inside(body, "field_declaration", "enum_variant", *_ITEMS))
        bounds = one.child_by_field_name("bounds")
        found.bases |= {said(of) for of in inside(bounds, "type_identifier")} - _STANDARD if bounds else set()
        yield said(one.child_by_field_name("name")), found
    for one in inside(root, "impl_item"):
        of, trait, body = (one.child_by_field_name(key) for key in ("type", "trait", "body"))
        name = said(of).partition("<")[0].rpartition("::")[2]
        found = DeclaredType(_names(inside(body, *_ITEMS)) if body else set())
        found.is_open = body is not None and any(one.type == "macro_invocation" for one in body.named_children)
        if trait is not None:
            found.bases = {said(trait).partition("<")[0].rpartition("::")[2]} - _STANDARD
        yield name, found


_SCRIPT_MEMBERS = (
    "method_definition", "method_signature", "abstract_method_signature", "property_signature",
    "public_field_definition",
)  # fmt: skip
_ITEMS = ("function_item", "function_signature_item", "const_item", "associated_type", "type_item")


def _derived(item: Node) -> set[str]:
    """The traits that the attributes in front of an item derive; of other attributes, their own names."""
    found: set[str] = set()
    before = item.prev_named_sibling
    while before is not None and before.type in {"attribute_item", "line_comment"}:
        if said(before).startswith("#[derive"):
            found.update(said(one) for one in inside(before, "identifier"))
        before = before.prev_named_sibling
    return found - {"derive"}


def _script(root: Node) -> Iterator[tuple[str, DeclaredType]]:
    for one in inside(root, "class_declaration", "abstract_class_declaration", "interface_declaration"):
        body = one.child_by_field_name("body")
        found = DeclaredType(_class_members(body) if body else set())
        for heritage in inside(one, "class_heritage", "extends_type_clause", "extends_clause"):
            if "implements" not in said(heritage).split(None, 1)[0]:
                found.bases |= {said(of) for of in inside(heritage, "identifier", "type_identifier")} - _STANDARD
                found.is_open = any(inside(heritage, "call_expression", "member_expression"))
        yield said(one.child_by_field_name("name")), found
    for one in inside(root, "enum_declaration"):
        body = one.child_by_field_name("body")
        parts = body.named_children if body else []
        names = {said(part.child_by_field_name("name") or part) for part in parts if part.type != "comment"}
        yield said(one.child_by_field_name("name")), DeclaredType(names)
    for one in inside(root, "type_alias_declaration"):
        value = one.child_by_field_name("value")
        is_plain = value is not None and value.type == "object_type"
        yield (
            said(one.child_by_field_name("name")),
            DeclaredType(_class_members(value) if is_plain and value else set(), is_open=not is_plain),
        )
    for one in inside(root, "variable_declarator"):
        # What a variable holds may get members anywhere.
        yield said(one.child_by_field_name("name")), DeclaredType(is_open=True)


def _class_members(body: Node) -> set[str]:
    found = _names(inside(body, *_SCRIPT_MEMBERS))
    found |= _names(inside(body, "field_definition"), "property")
    # A parameter of a constructor with `private` or `readonly` is a member.
    for one in inside(body, "required_parameter", "optional_parameter"):
        if any(part.type in {"accessibility_modifier", "readonly"} for part in one.children):
            found.add(said(one.child_by_field_name("pattern")))
    for one in inside(body, "member_expression"):
        if said(one.child_by_field_name("object")) == "this":
            found.add(said(one.child_by_field_name("property")))
    return {name.lstrip("#").strip("\"'") for name in found}
