"""Measure the two halves of implicit invalidation: what proposals find, and what a verifier judges rightly."""
