"""JavaScript, TypeScript, Go and Rust: the names that code declares, and the modules and commands of their tools."""

from __future__ import annotations
