"""Keys, pins, signed notes and envelopes of views, signatures of writers, and witnesses on other machines."""
