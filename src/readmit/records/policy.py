"""Every number and rule that a return is decided by, in groups.

``budgets`` bound what is handed over, ``evidence`` says whose word counts, ``returns`` how a return ends, ``limits``
how much one writer may do, ``looks`` how sources are looked at again. ``paper`` holds what the paper's configuration
needs and a product leaves alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from readmit.records.base import Count, Name, Ratio, Record, nfc, require_share, shown
from readmit.records.error_types import NotAllowedError, RecordError
from readmit.records.items import CONSTRAINTS, Item, Kind, Obligation
from readmit.records.likeness import lookalike
from readmit.records.made import Made

OWNER = "owner"
"""The principal that opens the file: it starts the workspace, governs it and changes its keys."""

AUTHOR = "readmit"
"""The principal under which readmit writes verdicts and suspicions of models."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
# Adding this to the current time stays within the range of datetime.
CENTURY = 3_155_760_000
_Long = Annotated[str, msgspec.Meta(min_length=1, max_length=4_096)]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=CENTURY)]


class Budgets(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """How much is handed over. Who writes the prompt of the agent sets them."""

    items: Count = 16
    """``B_n``: most items in a view. Raise it for roles with many duties."""
    chars: Count = 8_000
    """``B_c``: most characters in a view. Set it to what the agent's prompt has room for."""
    item_chars: Count = 2_000
    """Most characters in a single item. Raise it for teams whose statements are long documents."""
    experiences: Count = 8
    """Most private experiences handed over. Raise it for agents that keep many notes of their own."""
    experience_chars: Count = 4_000
    """Most characters of private experience handed over. Set it to what the agent's prompt has room for."""
    retractions: Count = 32
    """Most retractions handed over: what no longer holds of what the agent held. The rest are counted. 0: they are only
    counted, for agents whose prompt is rebuilt at every return."""
    retraction_chars: Count = 0
    """Most characters of withdrawn text handed over, marked as withdrawn. 0: retractions come by id alone. Raise it for
    agents that cannot know what an id stood for."""
    solver_milliseconds: Positive = 2_000
    """Deadline of the exact solver. Raise it where returns end in ``cover_undecided``."""


class EvidenceRules(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """Whose word counts. Who answers for the team's records sets them."""

    writers: tuple[Name, ...] = ()
    """Principals whose evidence, items, lifecycle events, suspicions and verdicts count. Empty: everyone's. Name them
    as soon as somebody writes whose word should not count."""
    writers_signed: Literal["optional", "required"] = "optional"
    """Whether events count only if their writer signed them; it holds for events from this policy on. Require it where
    the store is in other hands than the writers' keys."""
    overseers: tuple[Name, ...] = ()
    """Principals who may overrule a rejection, and change policy and keys. Empty: nobody overrules, and the owner
    alone changes policy and keys. Name the people who answer for decisions."""
    drafts: Literal["accept", "confirm", "refuse"] = "accept"
    """Whether items and links that a model drafted count: always, once confirmed, or never. Choose ``confirm`` where
    people review what a model wrote."""
    invalid_at: Ratio = Decimal("0.5")
    """Least score ``stale`` at which a verdict takes an item out. Lower it where a stale item costs more than a missing
    one."""
    suspect_at: Ratio = Decimal("0.3")
    """Least score ``stale`` at which a verdict withholds an item that supports a critical dependency. Lower it where a
    critical need must not rest on anything in doubt."""
    on_concurrent: Literal["ask", "newest"] | tuple[Name, ...] = "ask"
    """Which of several statements about one slot stands, if their writers did not know of each other: none until
    somebody settles it; the newest; or that of the writer who comes first in a list of names, and between equals none.
    Give a list where one agent has the last word."""

    def __post_init__(self) -> None:
        require_share("invalid_at", self.invalid_at)
        require_share("suspect_at", self.suspect_at)
        if self.suspect_at > self.invalid_at:
            raise RecordError("suspect_at must not exceed invalid_at")
        if self.on_concurrent == ():
            raise RecordError("on_concurrent: name the writers by rank, or write 'ask' or 'newest'")
        lists = (("writers", self.writers), ("overseers", self.overseers), ("on_concurrent", self.ranks))
        for field, names in lists:
            for name in names:
                distinct(field, name, tuple(one for one in self.known_names if one != nfc(name)))

    @property
    def ranks(self) -> tuple[str, ...]:
        """Writers by rank, highest first, if rank decides between concurrent statements."""
        return self.on_concurrent if isinstance(self.on_concurrent, tuple) else ()

    @property
    def known_names(self) -> tuple[str, ...]:
        """The principals that it names, and the reserved ones: no one else writes under a name like one."""
        return (OWNER, AUTHOR, *map(nfc, (*self.overseers, *self.writers, *self.ranks)))


class ReturnRules(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """How a return ends. Who builds the agent's loop sets them."""

    on_incomplete: Literal["block", "reset", "partial"] = "block"
    """The end of an incomplete admission: a block, a reset, or a partial view of whole duties. Choose ``partial`` for
    agents with independent duties, ``reset`` for agents that can start from nothing."""
    fill: Literal["always", "nothing_owed", "never", "block"] = "nothing_owed"
    """When eligible items beyond what the duties need fill the remaining budget, newest first: always; only where no
    duty applies; never, so that a return without a duty gets an empty view; or never, and such a return is blocked.
    Choose ``always`` for agents that search a memory store through the view, ``block`` where a return without a duty is
    a mistake."""
    require_frontier: bool = False
    """Whether every open obligation must have a current frontier. Require it where agents hand work over half done."""
    examination: Literal["optional", "required"] = "optional"
    """Whether a return is blocked unless a verifier examined everything up to the newest observation. Require it where
    a model looks for implicit changes before every return."""
    view_seconds: Seconds = 900
    """How long a view may wait for exposure. Raise it if a queue lies between decision and exposure."""
    max_clock_skew: Seconds = 3_600
    """Most seconds that a clock may lag behind the last moment the log has learnt, or differ from a server's. Raise it
    for hosts whose clocks are known to be wrong."""


class WriteLimits(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """How much one writer may do within a window. Who runs the workspace sets them to twice what its busiest does."""

    invalidations: Count = 1_000
    """Most that one principal may end within the window: items that its events name, and statements of others that its
    items replace. Lower it where agents write without supervision."""
    duties: Count = 100
    """Most duties that one principal may open for others within the window. Raise it for a planner of many agents."""
    window_seconds: Seconds = 3_600
    """The window of both limits. Change it if the team's work comes in longer bursts."""


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


class PaperRules(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """The parameters that the paper leaves open. Who repeats the paper changes them; the defaults are readmit's own."""

    gamma: Ratio = Decimal(1)
    """Least share of obligations covered: ``Cov(S) ≥ γ``."""
    rho: Ratio = Decimal(1)
    """Least share of critical dependencies covered: ``Crit(S) ≥ ρ``."""
    kinds: tuple[Kind, ...] = tuple(Kind)
    """Item kinds that may be admitted (gate ``U``). Duties and constraints bind whatever this says, unless
    ``constraints`` is ``as_needed``."""
    selection: Literal["greedy_then_exact", "greedy", "cheapest"] = "greedy_then_exact"
    """Which selector runs. The paper's is ``greedy``; ``cheapest`` asks the exact solver for the least total cost."""
    constraints: Literal["always", "as_needed"] = "always"
    """Whether every constraint of the role binds and is in the view, or only those that cover a dependency are, as in
    the paper."""
    newest: Literal["always", "as_needed"] = "always"
    """Whether a view holds the newest of the items that meet a need, where one of them has no slot, or any, as in the
    paper."""
    min_confidence: Ratio = Decimal("0.65")
    """Least confidence at which a verdict without a score decides; below it the answer counts as unsure."""
    on_unsure: Literal["exclude", "exclude_critical"] = "exclude"
    """Whether an unsettled suspicion takes out every item it names, or only those that support a critical
    dependency."""

    def __post_init__(self) -> None:
        require_share("gamma", self.gamma)
        require_share("rho", self.rho)
        require_share("min_confidence", self.min_confidence)


class Policy(Record, kw_only=True, omit_defaults=False, metaclass=Made):
    """How a workspace decides. Stored in its log, so every process and every replay uses the same one."""

    budgets: Budgets = Budgets()
    """How much is handed over."""
    evidence: EvidenceRules = EvidenceRules()
    """Whose word counts."""
    returns: ReturnRules = ReturnRules()
    """How a return ends."""
    limits: WriteLimits = WriteLimits()
    """How much one writer may do."""
    looks: LookRules = LookRules()
    """How sources of evidence are looked at again before a return."""
    paper: PaperRules = PaperRules()
    """The paper's own parameters."""

    if TYPE_CHECKING:  # a group may be given as plain values too, as in a file

        def __init__(
            self,
            *,
            budgets: Budgets | Mapping[str, object] = ...,
            evidence: EvidenceRules | Mapping[str, object] = ...,
            returns: ReturnRules | Mapping[str, object] = ...,
            limits: WriteLimits | Mapping[str, object] = ...,
            looks: LookRules | Mapping[str, object] = ...,
            paper: PaperRules | Mapping[str, object] = ...,
        ) -> None: ...

    def changed(self, **groups: Record | Mapping[str, object]) -> Policy:
        """Change some settings of the policy, as in ``policy.changed(budgets={"items": 24})``.

        A group that is given as a record takes the place of the whole group.
        """
        plain: dict[str, object] = msgspec.structs.asdict(self)
        for name, settings in groups.items():
            before = plain.get(name)
            kept = msgspec.structs.asdict(before) if isinstance(before, Record) else {}
            plain[name] = {**kept, **settings} if isinstance(settings, Mapping) else settings
        return Policy(**plain)  # type: ignore[arg-type]  # its constructor checks

    def binds(self, item: Item) -> bool:
        """Whether an item binds those it names until an act ends it: a duty, and a constraint that always applies."""
        return type(item) is Obligation or self.constrains(item)

    def constrains(self, item: Item) -> bool:
        """Whether an item is a constraint that binds whatever the duties are."""
        return self.paper.constraints == "always" and type(item) in CONSTRAINTS


def differences(given: Record, other: Record, within: str = "") -> Iterator[str]:
    """Each setting in which two policies differ, with both values."""
    for name in given.__struct_fields__:
        one, two = getattr(given, name), getattr(other, name)
        if isinstance(one, Record):
            yield from differences(one, two, f"{within}{name}.")
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
