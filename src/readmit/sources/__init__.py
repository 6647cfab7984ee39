"""Sources of evidence: the places to read it from, and looking at them again, under limits."""

from __future__ import annotations

from readmit.records.probes import (
    CallableProbe,
    CommandProbe,
    FileProbe,
    Finding,
    GitProbe,
    HttpProbe,
    McpProbe,
    Probe,
    SqlProbe,
)
from readmit.sources.looker import Looker
from readmit.sources.places import Call, Command, File, Git, Http, Mcp, Sql
from readmit.sources.prober import Captured, Prober, ProbeResult

__all__ = [
    "Call",
    "CallableProbe",
    "Captured",
    "Command",
    "CommandProbe",
    "File",
    "FileProbe",
    "Finding",
    "Git",
    "GitProbe",
    "Http",
    "HttpProbe",
    "Looker",
    "Mcp",
    "McpProbe",
    "Probe",
    "ProbeResult",
    "Prober",
    "Sql",
    "SqlProbe",
]
