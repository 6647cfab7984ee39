"""Indexes over the log: audiences, slots, names, running totals, each proven by the signed map."""
