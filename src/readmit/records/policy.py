"""Every number and rule that a return is decided by, in one place."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from readmit.records.base import Count, Name, Ratio, Record, require_share
from readmit.records.errors import NotAllowedError, RecordError
from readmit.records.items import Kind
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
    """Whether a view holds every constraint of the role, or only those that cover a dependency, as in the paper."""
    examination: Literal["optional", "required"] = "optional"
    """Whether a return is blocked unless a verifier examined everything up to the newest observation."""
    require_frontier: bool = False
    """Whether every open obligation must have a current frontier."""
    kinds: tuple[Kind, ...] = tuple(Kind)
    """Item kinds that may be admitted. Duties are owed whatever this says."""
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
    """Most that one principal may end within the window: items that its events name or reset, and statements of
    others that its items replace."""
    duties_per_writer: Count = 100
    """Most duties that one principal may open for others within the window."""
    invalidation_window_seconds: Seconds = 3_600
    """The window of both limits."""
    max_clock_skew: Seconds = 3_600
    """Most seconds that the clock may lag behind the last moment the log has learnt."""
    view_seconds: Seconds = 900
    """How long a view may wait for exposure."""
    max_experiences: Count = 8
    """Most private experiences handed over."""
    max_experience_chars: Count = 4_000
    """Most characters of private experience handed over."""
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


def with_old_defaults(stored: dict[str, Any]) -> dict[str, Any]:
    """A stored policy; one from before the second rules keeps its old behavior."""
    if "nothing_owed" in stored:
        return stored
    return {
        "nothing_owed": "fill" if stored.get("fill") else "empty",
        "constraints": "as_needed",
        "examination": "optional",
        "duties_per_writer": 2**53 - 1,
        "max_clock_skew": CENTURY,
        **stored,
    }


# Every limited write reads the policy in force.
@lru_cache(16)
def stored_policy(body: bytes | str) -> Policy:
    """A policy from the log. One stored before a setting existed keeps the old behavior, not today's default."""
    return msgspec.convert(with_old_defaults(msgspec.json.decode(body, type=dict)), Policy)


def unreserved(field: str, name: str) -> str:
    """A principal's name that is neither the owner's nor readmit's."""
    if isinstance(name, str) and name in (OWNER, AUTHOR):  # type: ignore[redundant-expr]  # the type check is later
        raise NotAllowedError(f"{field}: the name {name!r} is reserved; choose another for a principal or an agent")
    return name
