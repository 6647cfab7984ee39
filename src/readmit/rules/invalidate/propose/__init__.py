"""Propose pairs of an older item and a later observation. It finds candidates and decides nothing.

Paper, "From a possible dependency to a confirmed invalidation": a high-recall stage before the verifier.

Every signal is independent, can be left out, and is counted. Signals read values that were prepared once (slots,
vectors, premises, implied facts, scan answers); this package calls no model and no storage.
"""

from __future__ import annotations

from readmit.rules.invalidate.propose.candidates import (
    Observation,
    Openings,
    Scored,
    Scorer,
    Signal,
    Target,
    open_pairs,
)
from readmit.rules.invalidate.propose.dense import Embeddings, ImpliedFacts, Passages
from readmit.rules.invalidate.propose.fuse import NEAR, NEAR_STATED, Proposal, Proposals, Tally, propose
from readmit.rules.invalidate.propose.gather import observations_of, targets_of
from readmit.rules.invalidate.propose.scan_signal import ScanCall, Scanned, plan_scan
from readmit.rules.invalidate.propose.structure import DeclaredPremises, SameSlot
from readmit.rules.invalidate.propose.text_windows import passages, windows
from readmit.rules.invalidate.propose.vectors import Center

__all__ = [
    "NEAR",
    "NEAR_STATED",
    "Center",
    "DeclaredPremises",
    "Embeddings",
    "ImpliedFacts",
    "Observation",
    "Openings",
    "Passages",
    "Proposal",
    "Proposals",
    "SameSlot",
    "ScanCall",
    "Scanned",
    "Scored",
    "Scorer",
    "Signal",
    "Tally",
    "Target",
    "observations_of",
    "open_pairs",
    "passages",
    "plan_scan",
    "propose",
    "targets_of",
    "windows",
]
