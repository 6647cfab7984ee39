"""Scenarios: a team's steps in one JSON document, played in order, with the outcome of each return."""
