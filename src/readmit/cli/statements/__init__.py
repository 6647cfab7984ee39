"""Commands that write evidence, items and what happens to them."""
