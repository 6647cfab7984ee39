"""Commands of an agent: it departs, stays present, returns, and takes its view."""
