"""Protocols: what readmit asks of storage, models, memory backends and signers."""
