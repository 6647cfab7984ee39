"""Presence of agents: absences, leases, and subscriptions to an exposed view."""
