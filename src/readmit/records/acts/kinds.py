"""Event kinds: one declaration, from which the log, scenario steps, the command line and docs follow.

Other packages declare kinds in the same way, in a module named under the entry point group ``readmit.events``. It is
imported when an unknown kind is read, and when all kinds are listed.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import msgspec
from msgspec import structs

from readmit.records.error_types import UnknownError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ENTRY_POINTS = "readmit.events"


class Wording(NamedTuple):
    """The words for an event of this kind: as a step of a scenario, and as a command."""

    arguments: tuple[str, ...]
    """Fields that the command takes by position. All others are options."""
    done: str | Callable[[Any], str]
    """The deed, from the payload, or with its fields in braces. The command adds id and epoch."""
    examples: tuple[str, ...]
    meaning: str
    """One line for ``--help``, the scenario's schema and the docs."""
    names: Mapping[str, str] = {}
    """Fields of the payload that people know under another name."""
    options: Mapping[str, str] = {}
    """Fields whose option is called differently."""
    unsaid: tuple[str, ...] = ()
    """Fields that only code fills in."""


class DeclaredKind(str):
    """A kind of event: its name, with everything the package needs to know about it."""

    __slots__ = (
        "belongs",
        "check",
        "decode",
        "doc",
        "ends_items",
        "invalidates",
        "is_act",
        "is_reserved",
        "is_work",
        "payload",
        "prefix",
        "reaches",
        "settles",
        "touches",
        "verb",
        "wording",
    )

    payload: Any
    doc: str
    touches: Callable[[Any], tuple[str, ...]]
    reaches: Callable[[Any], tuple[str, str, str]] | None
    belongs: Callable[[Any], tuple[str, ...]]
    prefix: str
    verb: str
    invalidates: bool
    ends_items: bool
    is_act: bool
    is_reserved: bool
    is_work: bool
    settles: bool
    wording: Wording | None
    check: Callable[[Any, Any], None] | None
    decode: Callable[[bytes | str], Any]

    def event_id(self, name: str) -> str:
        """The id on the log of an event of this kind named ``name``, by its writer or its content."""
        return f"{self.prefix}:{name}"

    def __reduce__(self) -> tuple[Callable[[str], DeclaredKind], tuple[str]]:
        return kind_named, (str(self),)


KINDS: dict[str, DeclaredKind] = {}
"""Every declared kind by its name, in order of declaration."""
_TOUCHES: dict[type, Callable[[Any], tuple[str, ...]]] = {}


def _nothing(_: object) -> tuple[str, ...]:
    return ()


def _workspace(_: object) -> tuple[str, ...]:
    return ("",)


def declare(
    name: str,
    payload: Any,
    *,
    doc: str = "",
    touches: Callable[[Any], tuple[str, ...]] = _nothing,
    reaches: Callable[[Any], tuple[str, str, str]] | None = None,
    belongs: Callable[[Any], tuple[str, ...]] | None = None,
    prefix: str = "",
    verb: str = "",
    invalidates: bool = False,
    ends_items: bool = False,
    is_act: bool = False,
    is_reserved: bool = False,
    is_work: bool = True,
    settles: bool | None = None,
    wording: Wording | None = None,
    check: Callable[[Any, Any], None] | None = None,
) -> DeclaredKind:
    """Declare a kind of event and what it means to the rest of the package.

    ``doc`` is one line about it, by default that of its wording or its payload. ``touches`` gives the items whose
    standing an event concerns: it reaches those who can see one of them, only those who may change them write it, and
    it is in their history. An event that touches none ``reaches`` those of a task, a principal and a role (an empty
    text is any). It ``belongs`` to keys under which the log finds it again (``Log.latest``): by default, if it touches
    nothing, to the workspace as a whole.

    ``prefix`` is the name space of its ids, ``verb`` the command and step that write it where that is not its name.
    ``invalidates``: it takes something out of use, so it needs an allowed writer and counts against the writer's rate.
    ``ends_items``: in the PROV export it ends the life of what it touches. ``is_act``: only a named principal does it,
    never readmit by itself. ``is_reserved``: only readmit itself writes it. ``is_work``: writing it shows that its
    writer has received its view. ``settles``: it decides about what it touches, so nobody writes it who is away from
    that; by default, if it is an act. ``check`` gets the log and the draft of an event within the transaction, after
    every other check, and refuses it by raising a ``ReadmitError``.
    """
    if name in KINDS:
        raise ValueError(f"the event kind {name!r} is declared already; choose another name")
    kind = DeclaredKind(name)
    kind.payload, kind.doc = payload, doc or (wording.meaning if wording else _first_line(payload))
    kind.touches, kind.reaches = touches, reaches
    kind.belongs = belongs or (_workspace if touches is _nothing else _nothing)
    kind.prefix, kind.verb = prefix or name, verb or name
    kind.invalidates, kind.ends_items, kind.is_act = invalidates, ends_items, is_act
    kind.is_reserved, kind.is_work, kind.settles = is_reserved, is_work, is_act if settles is None else settles
    kind.wording, kind.check = wording, check
    kind.decode = msgspec.json.Decoder(payload).decode
    KINDS[name] = kind
    if touches is not _nothing:
        _TOUCHES.update(dict.fromkeys(get_args(payload) or (payload,), touches))
    return kind


class SaidField(NamedTuple):
    """A field of an event as people write it."""

    field: str
    """Its name in the payload."""
    name: str
    type: Any
    default: Any
    """``msgspec.NODEFAULT`` if it must be given."""

    @property
    def info(self) -> msgspec.inspect.Type:
        """The type of its values, without annotations."""
        return _bare(msgspec.inspect.type_info(self.type))[0]

    @property
    def meaning(self) -> str:
        """The meaning that its type is annotated with."""
        return str(_bare(msgspec.inspect.type_info(self.type))[1].get("description", ""))


def sentence(kind: DeclaredKind, payload: Any) -> str:
    """The deed of an event of a kind, in the words of its declaration."""
    if kind.wording is None:
        return kind.doc.removesuffix(".")
    if not isinstance(kind.wording.done, str):
        return kind.wording.done(payload)
    return kind.wording.done.format_map({name: _said(value) for name, value in structs.asdict(payload).items()})


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:%Y-%m-%d %H:%M:%S} UTC" if isinstance(value, datetime) else str(value)


def said_fields(kind: DeclaredKind) -> tuple[SaidField, ...]:
    """The fields of a kind that people write, besides who writes it and when it was true."""
    wording = kind.wording
    if wording is None:
        return ()
    return tuple(
        SaidField(field.name, wording.names.get(field.name, field.name), field.type, field.default)
        for field in structs.fields(kind.payload)
        if field.name not in wording.unsaid
    )


@cache
def names_in(record: type[msgspec.Struct]) -> dict[str, str]:
    """The fields of a record that refer to something on the log, and to what: an item, a dispute."""
    found = {}
    for field in structs.fields(record):
        _, facts = _bare(msgspec.inspect.type_info(field.type))
        if "names" in facts:
            found[field.name] = str(facts["names"])
    return found


def _bare(info: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, dict[str, Any]]:
    """A type without annotations, options and lists; and the metadata of its annotations."""
    facts: dict[str, Any] = {}
    inner: msgspec.inspect.Type = info
    found: msgspec.inspect.Type | None = None
    while True:
        match inner:
            case msgspec.inspect.Metadata():
                facts = {**(inner.extra or {}), **(inner.extra_json_schema or {}), **facts}
                inner = inner.type
            case msgspec.inspect.UnionType(types=types):
                inner = next(one for one in types if not isinstance(one, msgspec.inspect.NoneType))
            case msgspec.inspect.VarTupleType(item_type=item):
                found = found or inner
                inner = item
            case _:
                return found or inner, facts


def name_in(event_id: str) -> str:
    """The name within an event's id."""
    return event_id.partition(":")[2]


def targets_of(payload: object) -> tuple[str, ...]:
    """The items that a payload concerns."""
    return _TOUCHES.get(type(payload), _nothing)(payload)


def kind_named(name: str) -> DeclaredKind:
    """A kind by its name, from any installed package."""
    if name not in KINDS:
        load_declared_elsewhere()
    if name not in KINDS:
        raise UnknownError(f"no installed package declares the event kind {name!r}; install the one that wrote it")
    return KINDS[name]


@cache
def load_declared_elsewhere() -> None:
    """Import the modules in which other packages declare their kinds, once."""
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS):
        point.load()


def _first_line(payload: Any) -> str:
    lines = (payload.__doc__ or "").strip().splitlines()
    return lines[0].replace("``", "`") if lines else ""
