"""A sample of edits with every kind of edit on every table in it, drawn by a seed that a failing run prints."""

from __future__ import annotations

import os
import random
import secrets
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.attacks.tampering import Edit

SEED = "READMIT_ATTACK_SEED"


def seed() -> int:
    """Another one in each run, unless the environment names the one to repeat."""
    return int(os.environ.get(SEED) or secrets.randbits(32))


def sampled(every: Sequence[Edit], start: int, each: int) -> list[Edit]:
    """So many edits of every kind on every table, drawn at random; all of them where there are fewer."""
    drawn = random.Random(start)
    kinds: defaultdict[tuple[str, str], list[Edit]] = defaultdict(list)
    for one in every:
        kinds[one.table, one.act].append(one)
    return [edit for _, same in sorted(kinds.items()) for edit in drawn.sample(same, min(each, len(same)))]
