"""The way in: API keys, tokens of identity providers, limits, and one line for each request."""
