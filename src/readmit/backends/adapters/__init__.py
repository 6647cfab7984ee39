"""Adapters to memory stores that others wrote: Mem0, A-MEM, Memobase."""
