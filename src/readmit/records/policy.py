"""Every number and rule that a return is decided by, in one place."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from readmit.records.base import Count, Name, Ratio, Record, nfc, require_share, shown
from readmit.records.error_types import NotAllowedError, RecordError
from readmit.records.items import CONSTRAINTS, Item, Kind, Obligation
from readmit.records.likeness import lookalike
from readmit.records.made import Made

if TYPE_CHECKING:
    from collections.abc import Iterator

OWNER = "owner"
"""The principal that opens the file: it starts the workspace, governs it and changes its keys."""

AUTHOR = "readmit"
"""The principal under which readmit writes verdicts and suspicions of models."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
# Adding this to the current time stays within the range of datetime.
CENTURY = 3_155_760_000
_Long = Annotated[str, msgspec.Meta(min_length=1, max_length=4_096)]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=CENTURY)]


class LookRules(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """How sources of evidence are looked at again. By default: files near the store, no network, no command."""

    lifetime: Annotated[int, msgspec.Meta(ge=0, le=CENTURY)] = 60
    """Seconds for which a look stays fresh, if the probe does not say. Files and git repositories are then looked at
    before every return; one that finds the same within this time is not written down again."""
    seconds: Positive = 5
    """Most seconds for one source."""
    total_seconds: Positive = 30
    """Most seconds for all sources of a return."""
    bytes: Positive = 1_000_000
    """Most bytes read from one source."""
    count: Positive = 10_000
    """Most sources looked at for a return. The others are unseen."""
    roots: tuple[_Long, ...] = ()
    """Folders below which files and repositories are read. None: the folder of the store, or the current one."""
    hosts: tuple[Name, ...] = ()
    """Hosts that may be asked, as in ``example.org`` or ``*.example.org``. None: no network."""
    private_hosts: tuple[Name, ...] = ()
    """Hosts of these that may have a private, loopback or link-local address."""
    commands: tuple[tuple[_Long, ...], ...] = ()
    """Commands that may run, each with exactly these arguments; a last ``*`` allows any further ones."""
    sandbox: Literal["required", "limits"] = "required"
    """Whether a command needs namespaces, or runs under resource limits alone."""


class Policy(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """How a workspace decides. Stored in its log, so every process and every replay uses the same one."""

    gamma: Ratio = Decimal(1)
    """Least share of obligations covered: ``Cov(S) ≥ γ``."""
    rho: Ratio = Decimal(1)
    """Least share of critical dependencies covered: ``Crit(S) ≥ ρ``."""
    max_items: Count = 16
    """``B_n``: most items in a view."""
    max_chars: Count = 8_000
    """``B_c``: most characters in a view."""
    max_item_chars: Count = 2_000
    """Most characters in a single item."""
    on_incomplete: Literal["block", "reset", "partial"] = "block"
    """What an incomplete admission ends in: a block, a reset, or a partial view of whole duties."""
    selection: Literal["greedy_then_exact", "greedy", "cheapest"] = "greedy_then_exact"
    """Which selector runs; ``cheapest`` asks the exact solver for the least total cost."""
    solver_milliseconds: Positive = 2_000
    """Deadline of the exact solver."""
    fill: bool = False
    """Whether eligible items beyond what coverage needs fill the remaining budget, newest first."""
    nothing_owed: Literal["fill", "empty", "block"] = "fill"
    """What a return without any duty gets: what stands, newest first; an empty view; or no view."""
    constraints: Literal["always", "as_needed"] = "always"
    """Whether every constraint of the role binds and is in the view, or only those that cover a dependency are, as in
    the paper."""
    newest: Literal["always", "as_needed"] = "always"
    """Whether a view holds the newest of the items that meet a need, where one of them has no slot, or any, as in the
    paper."""
    examination: Literal["optional", "required"] = "optional"
    """Whether a return is blocked unless a verifier examined everything up to the newest observation."""
    require_frontier: bool = False
    """Whether every open obligation must have a current frontier."""
    kinds: tuple[Kind, ...] = tuple(Kind)
    """Item kinds that may be admitted. Duties and constraints bind whatever this says, unless ``constraints`` is
    ``as_needed``."""
    writers: tuple[Name, ...] = ()
    """Principals whose evidence, items, lifecycle events, suspicions and verdicts count. Empty: everyone's."""
    overseers: tuple[Name, ...] = ()
    """Principals who may overrule a rejection, and change policy and keys. Empty: nobody overrules, and the owner
    alone changes policy and keys."""
    writers_signed: Literal["optional", "required"] = "optional"
    """Whether events count only if their writer signed them; it holds for events from this policy on."""
    min_confidence: Ratio = Decimal("0.65")
    """Least confidence at which a verdict decides; below it the answer counts as unsure."""
    invalid_at: Ratio = Decimal("0.5")
    """Least score ``stale`` at which a verdict takes an item out."""
    suspect_at: Ratio = Decimal("0.3")
    """Least score ``stale`` at which a verdict withholds an item that supports a critical dependency."""
    drafts: Literal["accept", "confirm", "refuse"] = "accept"
    """Whether items and links that a model drafted count: always, once confirmed, or never."""
    on_unsure: Literal["exclude", "exclude_critical"] = "exclude"
    """Whether an unsettled suspicion takes out every item it names, or only those that support a critical
    dependency."""
    on_concurrent: Literal["ask", "newest", "authority"] = "ask"
    """What happens to statements about one slot whose writers did not know of each other: none stands until somebody
    settles it; the newest stands; or that of the writer who is first in ``authority``."""
    authority: tuple[Name, ...] = ()
    """Writers by rank, highest first, for ``on_concurrent="authority"``. Between equals, none stands."""
    invalidations_per_writer: Count = 1_000
    """Most that one principal may end within the window: items that its events name, and statements of others that
    its items replace."""
    duties_per_writer: Count = 100
    """Most duties that one principal may open for others within the window."""
    invalidation_window_seconds: Seconds = 3_600
    """The window of both limits."""
    max_clock_skew: Seconds = 3_600
    """Most seconds that a clock may lag behind the last moment the log has learnt, or differ from a server's."""
    view_seconds: Seconds = 900
    """How long a view may wait for exposure."""
    max_experiences: Count = 8
    """Most private experiences handed over."""
    max_experience_chars: Count = 4_000
    """Most characters of private experience handed over."""
    retractions: Literal["ids", "texts", "none"] = "ids"
    """Whether a return says what no longer holds of what the agent held: by id; with the text that it held, marked as
    withdrawn; or not at all."""
    max_retractions: Count = 32
    """Most retractions handed over. The rest are counted."""
    max_retraction_chars: Count = 4_000
    """Most characters of withdrawn text handed over, where ``retractions`` is ``texts``."""
    looks: LookRules = LookRules()
    """How sources of evidence are looked at again before a return."""

    def __post_init__(self) -> None:
        require_share("gamma", self.gamma)
        require_share("rho", self.rho)
        require_share("min_confidence", self.min_confidence)
        require_share("invalid_at", self.invalid_at)
        require_share("suspect_at", self.suspect_at)
        if self.suspect_at > self.invalid_at:
            raise RecordError("suspect_at must not exceed invalid_at")
        if self.on_concurrent == "authority" and not self.authority:
            raise RecordError("authority: name the writers by rank, or choose another on_concurrent")
        for field, names in (("writers", self.writers), ("overseers", self.overseers), ("authority", self.authority)):
            for name in names:
                distinct(field, name, tuple(one for one in self.known_names if one != nfc(name)))

    @property
    def known_names(self) -> tuple[str, ...]:
        """The principals that it names, and the reserved ones: nobody else writes under a name that looks like one."""
        return (OWNER, AUTHOR, *map(nfc, (*self.overseers, *self.writers, *self.authority)))

    def binds(self, item: Item) -> bool:
        """Whether an item binds those it names until an act ends it: a duty, and a constraint that always applies."""
        return type(item) is Obligation or self.constrains(item)

    def constrains(self, item: Item) -> bool:
        """Whether an item is a constraint that binds whatever the duties are."""
        return self.constraints == "always" and type(item) in CONSTRAINTS


def differences(given: Record, other: Record, within: str = "") -> Iterator[str]:
    """Each setting in which two policies differ, with both values."""
    for name in given.__struct_fields__:
        one, two = getattr(given, name), getattr(other, name)
        if isinstance(one, Record):
            yield from differences(one, two, f"{name}.")
        elif one != two:
            there, here = (str(value) if isinstance(value, Decimal) else shown(value) for value in (two, one))
            yield f"{within}{name} is {there}, not {here}"


def unreserved(field: str, name: str) -> str:
    """A principal's name that is neither the owner's nor readmit's, and looks like neither."""
    if isinstance(name, str):  # other types are refused later, with the name of the field
        if name in (OWNER, AUTHOR):
            raise NotAllowedError(f"{field}: the name {name!r} is reserved; choose another for a principal or an agent")
        distinct(field, name, (OWNER, AUTHOR))
    return name


def distinct(field: str, name: str, names: tuple[str, ...]) -> None:
    """Refuse a name that looks like one of some others without being one of them."""
    if (other := lookalike(name, names)) is not None:
        raise NotAllowedError(f"{field}: the name {name!a} looks like {other!r}; write that, or choose another")
