"""Mutation testing of the code that decides."""
