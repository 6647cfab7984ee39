"""The log of a workspace: in a SQLite file by default, in a PostgreSQL database when a team outgrows one machine.

The log, the audit, derived texts, the source ledger and the reference memory store are written once, in SQL that both
understand. Each engine has its own connection and schema.
"""
