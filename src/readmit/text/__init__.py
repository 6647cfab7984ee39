"""Reads English without a model."""
