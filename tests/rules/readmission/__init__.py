"""Which private experiences come back."""
