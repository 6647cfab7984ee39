"""Which items no longer stand, and what took them out."""
