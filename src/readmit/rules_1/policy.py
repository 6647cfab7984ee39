"""The digest of a policy as the first rules wrote it: without the fields that came later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.canonical import digest

if TYPE_CHECKING:
    from readmit.records.policy import Policy

LATER = frozenset(
    {
        "nothing_owed",
        "constraints",
        "examination",
        "duties_per_writer",
        "max_clock_skew",
        "invalid_at",
        "suspect_at",
        "drafts",
        "writers_signed",
        "looks",
        "on_concurrent",
        "authority",
    }
)


def digest_1(policy: Policy) -> str:
    """What a view of that time names its policy by."""
    fields: dict[str, Any] = msgspec.structs.asdict(policy)
    return digest({name: value for name, value in fields.items() if name not in LATER})
