"""Every metric of a report by name (appendix "Metric definitions"; HM is ours)."""

from __future__ import annotations

METRICS = {
    "VIA": "Valid Information Availability: what still holds at return is available.",
    "IIR": "Invalid Information Rejection: what ended during the absence is withheld.",
    "WSAR": "Wrong-State Admission Rate, 1 − IIR.",
    "Overall": (
        "Each benchmark's own accuracy. STALE: the mean of SR, PR and IPA. Memora: the share of all criteria "
        "satisfied, (1 − w)·P + w·F. ManBench: the share of right final answers."
    ),
    "SR, PR, IPA": (
        "STALE's three probes: State Resolution, Premise Resistance, Implicit Policy Adaptation. VIA is IPA; IIR "
        "requires SR and PR in one episode."
    ),
    "LS": "STALE, Lifecycle Success: all three probes passed in one episode.",
    "P, F, w": (
        "Memora, per question: the shares of presence and of forgetting criteria satisfied, and the share of criteria "
        "that concern forgetting. VIA is the mean of P, IIR of F."
    ),
    "FAMA": "Memora's native score: per question max(0, P − w·(1 − F)), then averaged.",
    "RSR": "ManBench, Reality Shift Rate: initially right answers that became wrong, 1 − Overall on Old-Valid.",
    "HM": "Harmonic mean of VIA and IIR: zero as soon as one of them is.",
    "average, pooled": (
        "The two aggregation rules: blocks weighted equally, or by their episodes. Where all blocks have as many "
        "episodes, both are one."
    ),
    "in brackets": (
        "95 % percentile bootstrap interval: 1,000 draws of whole histories (all Memora questions about one person and "
        "period, at all their departures, are one) within blocks, with the run's seed. Where a block holds one history "
        "there is none, and few histories say little."
    ),
}
