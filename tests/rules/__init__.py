"""Rules shown by short scenes: which item stands, what becomes of a duty, what is handed over."""
