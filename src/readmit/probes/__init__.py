"""Looking again at sources of evidence, under limits.

``Looker(limits, databases=…, callables=…, mcp=…)`` is the prober of a workspace: ``look(probes)``, and one
``capture_…`` method per kind of source (``capture_file(path, lines="10-20", symbol="", lifetime=0)``,
``capture_git(path, repository=".", ref="HEAD", lines="", symbol="")``, ``capture_http(url, quote="", pointer="")``,
``capture_sql(database, query, parameters)``, ``capture_command(argv)``, ``capture_call(name, arguments)``,
``capture_mcp(server, uri)``), each of which answers ``Captured(text, probe)`` or raises ``ProbeError``.
"""

from __future__ import annotations
