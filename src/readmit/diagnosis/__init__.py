"""Explains the outcome of a return and the problems of a workspace: findings in order of usefulness.

All of it is for operators, never for the returning agent: it mentions items that were left out.
"""
