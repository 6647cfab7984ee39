"""Commands of the people who run a workspace: policy, limits, leases, keys, audit, backups."""
