"""Commands that ask models, and commands of memory stores."""
