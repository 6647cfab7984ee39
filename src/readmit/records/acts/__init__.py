"""Events of the log: their payloads, their kinds, and an event before it is appended."""
