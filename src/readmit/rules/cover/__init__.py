"""Obligation coverage and budgeted selection (paper, "Cover obligations under a context budget")."""
