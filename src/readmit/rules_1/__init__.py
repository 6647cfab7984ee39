"""The first rules, as they were: they decide nothing new, and replay what was decided under them to the same bytes.

``Request.rules`` says which rules a return was decided by. Nothing here is changed or shared with the rules in force,
except what has not changed since: the two selectors, coverage, the view and the matching of experiences.
"""
