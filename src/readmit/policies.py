"""The groups of a policy, as ``Policy(budgets=Budgets(items=24))``."""

from __future__ import annotations

from readmit.records.policy import Budgets, EvidenceRules, LookRules, PaperRules, Policy, ReturnRules, WriteLimits

__all__ = ["Budgets", "EvidenceRules", "LookRules", "PaperRules", "Policy", "ReturnRules", "WriteLimits"]
