"""A whole story as one JSON document: what the team did, in order, and what each return came to."""
