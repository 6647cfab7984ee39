"""Four separate questions about every candidate, and its size. Every gate runs; every reason is kept."""
