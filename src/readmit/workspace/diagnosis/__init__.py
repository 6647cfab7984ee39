"""Why a return came out as it did, and what is the matter with a workspace: findings in order of usefulness.

All of it is for the people who run the workspace, never for the returning agent: it speaks of items that were left out.
"""
