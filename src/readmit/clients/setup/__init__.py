"""Installing readmit into a client: its settings edited in place, a manifest of the pieces, and their removal."""
