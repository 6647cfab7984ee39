"""Private experience comes back only with the item that sourced it."""
