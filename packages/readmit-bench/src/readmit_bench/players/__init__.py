"""Memory systems that play an episode with their own code and client, each in a process and environment of its own.

``play.py`` is run as a file by an interpreter that has the memory system and ``time-machine``; nothing of readmit needs
to be installed there. What a player learns is the conversation and the questions, never a label.
"""
