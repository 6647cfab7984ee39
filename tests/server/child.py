"""A server in a process of its own, to be killed: ``python -m tests.server.child STORE KEYS PORT [LARGEST_FILE]``."""

from __future__ import annotations

import resource
import sys

import uvicorn

from readmit.server import ServerSettings, make_app
from tests.server.hosting import CALLERS, Words


def main(store: str, keys: str, port: str, largest: str = "") -> None:
    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), resource.RLIM_INFINITY))
    app = make_app(ServerSettings(store=store, keys=keys), Words(CALLERS))
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="critical", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
