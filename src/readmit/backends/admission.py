"""Which native records a returned agent may read. Pure.

A record is in only if *all* the items it was formed from are in: members of the exposed Return View that still pass the
gates. Evidence counts as every item bound to it, because a text formed from it may reveal any of them. A record is out
if its sources are unknown, its text is not the one that was bound, the policy does not accept its writer, or it is in
another principal's private bank. Its search rank does not matter.

The set of items is the view's, not all eligible ones: memory must not bring back items that the view leaves out as
not needed. To get a whole store back, ask for a view that holds it: ``fill="always"`` with matching budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from readmit.log.ledger import TEAM, Binding, Entry, NativeId
from readmit.records.base import Id, Record
from readmit.records.canonical import digest_of
from readmit.records.reasons import Reason, State, state_of


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """The standing items and rules that records are judged against."""

    admitted: AbstractSet[str]
    """Items of the exposed view that still pass the gates."""
    reader: str
    """The returned principal."""
    carriers: Mapping[str, frozenset[str]] = {}
    """Evidence digest → the items bound to it."""
    writers: AbstractSet[str] = frozenset()
    """Principals whose records count. Empty: everyone's, as in the policy."""
    reasons: Mapping[str, tuple[Reason, ...]] = {}
    """Reasons that items are out, for the operator's report."""


class Standing(Record, kw_only=True):
    """The disposition of one native record. For the operator and the audit, never for the agent."""

    record: NativeId
    state: State
    reasons: tuple[Reason, ...]
    sources: tuple[Id, ...] = ()
    """The items that keep the record out; for an admitted record, the items it was formed from."""
    conservative: bool = False
    """Whether a source is only known conservatively."""

    @property
    def admitted(self) -> bool:
        return self.state is State.ADMITTED


def items_of(bindings: Iterable[Binding], carriers: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
    """The items that bindings refer to, or ``None`` if some of them are unknown."""
    found: set[str] = set()
    for one in bindings:
        if one.of == "item":
            found.add(one.ref)
        elif carried := carriers.get(one.ref):
            found |= carried
        else:
            return None
    return frozenset(found) or None


def admissible(entry: Entry, ground: Ground) -> bool:
    """Whether a bound record is in, judged without its text."""
    if entry.owner not in (TEAM, ground.reader) or (ground.writers and not entry.writers <= ground.writers):
        return False
    items = items_of(entry.bindings, ground.carriers)
    return items is not None and items <= ground.admitted


def unaltered(entry: Entry, text: object) -> bool:
    """Whether a text is the one that was bound. A store may hand back anything."""
    return isinstance(text, str) and text_digest(text) == entry.text


def text_digest(text: str) -> str:
    """The digest of a record's text for the ledger. A text that UTF-8 cannot encode matches no digest."""
    return digest_of(text.encode("utf-8", "backslashreplace"))


def standing(record: str, text: str, entry: Entry | None, ground: Ground) -> Standing:
    """A record's disposition, with every reason that holds."""
    if entry is None:
        return Standing(record=record, state=State.UNPROVEN, reasons=(Reason.RECORD_UNBOUND,))
    reasons: list[Reason] = []
    if entry.owner not in (TEAM, ground.reader):
        reasons.append(Reason.PRINCIPAL_OUT_OF_SCOPE)
    if ground.writers and not entry.writers <= ground.writers:
        reasons.append(Reason.WRITER_NOT_ALLOWED)
    if not unaltered(entry, text):
        reasons.append(Reason.RECORD_UNBOUND)
    items = items_of(entry.bindings, ground.carriers)
    missing = sorted((items or frozenset()) - ground.admitted)
    conservative = any(one.precision == "conservative" for one in entry.bindings)
    if items is None:
        reasons.append(Reason.RECORD_UNBOUND)
    elif missing:
        # The sources' own reasons are more specific than "not admitted", so they set the state.
        why = [reason for name in missing for reason in ground.reasons.get(name, ())]
        state = state_of((*reasons, *why)) if why else state_of((*reasons, Reason.SOURCE_NOT_IN_VIEW))
        every = tuple(dict.fromkeys((*reasons, Reason.SOURCE_NOT_IN_VIEW, *why)))
        return Standing(record=record, state=state, reasons=every, sources=tuple(missing), conservative=conservative)
    if reasons:
        return Standing(
            record=record,
            state=state_of(tuple(reasons)),
            reasons=tuple(dict.fromkeys(reasons)),
            conservative=conservative,
        )
    return Standing(
        record=record,
        state=State.ADMITTED,
        reasons=(Reason.SOURCE_IN_VIEW,),
        sources=tuple(sorted(items or ())),
        conservative=conservative,
    )


def gone(entry: Entry, ground: Ground) -> Standing:
    """The disposition of a bound record that its store no longer holds."""
    items = items_of(entry.bindings, ground.carriers) or ()
    return Standing(
        record=entry.record, state=State.UNPROVEN, reasons=(Reason.RECORD_UNBOUND,), sources=tuple(sorted(items))
    )
