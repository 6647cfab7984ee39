"""Rules told by stories: which item stands, what becomes of a duty, what is handed over."""
