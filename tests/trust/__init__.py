"""Sealing, opening, rechecking and rendering a Return View."""
