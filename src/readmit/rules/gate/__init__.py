"""Four gates for every candidate, and a size check. Every gate runs; every reason is kept."""
