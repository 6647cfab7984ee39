"""Why a return came out as it did, and what is the matter with a workspace: findings in order of usefulness.

All of it is for whoever runs the workspace, never for the returning agent: it speaks of items that were left out.
"""
