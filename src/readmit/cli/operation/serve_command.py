"""``readmit serve``: the verbs over HTTP, the agent's tools at /mcp, and pages for people."""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from readmit.cli.command import Invocation, command
from readmit.cli.operation.credential_commands import api_keys_of
from readmit.cli.options import grouped, listen_address
from readmit.log.location import exists, names
from readmit.records.error_types import RecordError, StoreError
from readmit.server.caller import RIGHTS
from readmit.state.authority import host_time
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from readmit.server.http_server import Serving

_FIRST = "me"
"""The principal and the role of a first key."""


class _Found(NamedTuple):
    """Findings in the store before it is served."""

    key_folder: Path
    counting: int
    """Keys that count."""
    key: str | None
    """The first key, if one was made."""


@command(
    "serve",
    examples=(
        "readmit serve --first-key",
        "readmit serve --db team.db --listen 127.0.0.1:8421",
        "readmit serve --db postgresql://… --listen 0.0.0.0:8421 --proxy 10.0.0.0/8 --url https://readmit.example.org",
    ),
)
@click.option("--listen", default="127.0.0.1:8421", show_default=True, metavar="HOST:PORT", help="Where to listen.")
@click.option(
    "--first-key", is_flag=True,
    help="Start --workspace if there is none, and if no key counts yet, make one with every right for a day and "
    "print it.",
)  # fmt: skip
@grouped("Who calls")(
    "--issuers", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Identity providers whose tokens count, as TOML. API keys count in any case: `readmit credentials`.",
)  # fmt: skip
@grouped("Who calls")("--per-minute", type=click.IntRange(1, 10_000_000), default=6_000, show_default=True, metavar="N",
    help="Requests a minute of one credential.")  # fmt: skip
@grouped("Who calls")("--largest", type=click.IntRange(1_000, 1 << 30), default=8 << 20, show_default=True,
    metavar="BYTES", help="Largest body of a request.")  # fmt: skip
@grouped("From elsewhere")("--url", metavar="URL", help="Address at which callers reach it. Default: where it listens.")
@grouped("From elsewhere")(
    "--proxy", "proxies", multiple=True, metavar="ADDRESS|NETWORK",
    help="Proxy in front, which speaks TLS and says whom it speaks for. Repeatable.",
)  # fmt: skip
@grouped("From elsewhere")(
    "--certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Certificate, as PEM, to speak TLS itself.",
)  # fmt: skip
@grouped("From elsewhere")(
    "--certificate-key", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Private key of the certificate.",
)  # fmt: skip
def serve_store(invocation: Invocation, /, *, listen: str, first_key: bool, **given: Any) -> None:
    """Serve the workspaces of a store over HTTP, to callers with credentials, until it is stopped.

    The verbs are below /v1 (/v1/openapi.json lists them), the tools of an agent at /mcp, pages for people at /. A line
    on standard error says who asked for what, without texts and secrets. Beyond this machine it needs TLS: its own, or
    that of a proxy.
    """
    host, port = listen_address(listen)
    _check_place(host, given)
    try:
        from readmit.server.http_server import listening_at, serve, whole_app
        from readmit.server.telemetry_export import start_export
    except ModuleNotFoundError as error:
        raise RecordError(f"serve: the package {error.name} is missing; run `pip install 'readmit[server]'`") from None
    exported = start_export()
    found = _opened(invocation, make=first_key)
    with listening_at(host, port) as listening:
        scheme = "https" if given["certificate"] else "http"
        own = f"{scheme}://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        serving = _serving(invocation, found, given, own)
        app = whole_app(serving, lambda line: click.echo(line, err=True))
        _announce(invocation, found, serving, own, exported)
        try:
            serve(app, serving, listening)
        except KeyboardInterrupt:
            invocation.say_lines("Stopped.")


def _serving(invocation: Invocation, found: _Found, given: dict[str, Any], own: str) -> Serving:
    from readmit.server.access.request_limits import LimitSettings
    from readmit.server.http_server import Serving

    return Serving(
        store=invocation.db, key_folder=found.key_folder, url=(given["url"] or own).rstrip("/"),
        issuers=given["issuers"], limits=LimitSettings(per_minute=given["per_minute"], largest=given["largest"]),
        proxies=given["proxies"], certificate=given["certificate"], certificate_key=given["certificate_key"],
    )  # fmt: skip


def _check_place(host: str, given: dict[str, Any]) -> None:
    """Check the options of an address. Keys are sent with every request, so beyond this machine it takes TLS."""
    if (given["certificate"] is None) != (given["certificate_key"] is None):
        raise click.UsageError("give both --certificate and --certificate-key, or neither")
    for one in given["proxies"]:
        try:
            ipaddress.ip_network(one)
        except ValueError:
            raise click.UsageError(f"--proxy: {one!r} is no address and no network, as 10.0.0.0/8 is one") from None
    if given["url"] is not None and not given["url"].startswith(("https://", "http://")):
        raise click.UsageError(f"--url: {given['url']!r} is no address, as https://readmit.example.org is one")
    if not _is_loopback(host) and not given["proxies"] and given["certificate"] is None:
        raise click.UsageError(
            f"--listen: {host} is reached from elsewhere, where keys would be sent in the clear; give --certificate "
            "and --certificate-key, or the --proxy that speaks TLS in front"
        )
    if not _is_loopback(host) and given["url"] is None:
        raise click.UsageError("--url: say at which address callers reach it, as https://readmit.example.org")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _opened(invocation: Invocation, *, make: bool) -> _Found:
    """Look into the store: it must exist, unless the first key is to start it."""
    if not make and not exists(invocation.db):
        raise StoreError(
            f"--db: {invocation.store} does not exist; run `readmit serve --first-key{invocation.store_options}` to "
            f"start it and get a key, or `readmit init{invocation.store_options}`"
        )
    known = names(invocation.db)
    if not make and not known:
        raise StoreError(f"--db: {invocation.store} has no workspace; run `readmit init{invocation.store_options}`")
    with Workspace.open(invocation.db, name=invocation.workspace if make else known[0]) as workspace:
        keys, now, key = api_keys_of(workspace), host_time(), None
        counting = sum(not one.is_over(now) for one in keys.every())
        if make and not counting:
            _, key = keys.add(
                _FIRST, workspaces=[workspace.name], rights=RIGHTS, roles=[_FIRST], now=now,
                expires=now + timedelta(days=1), note="readmit serve --first-key",
            )  # fmt: skip
            counting = 1
        folder = desk_of(workspace).keys.folder
        assert folder is not None  # noqa: S101 - api_keys_of refused a store in memory
        return _Found(folder, counting, key)


def _announce(invocation: Invocation, found: _Found, serving: Serving, own: str, exported: str) -> None:
    """Say where it is, and how to call it."""
    lines = [
        f"Serving {invocation.store} at {own}",
        f"Pages: {own}/. Verbs: {own}/v1/openapi.json. Tools: {own}/mcp?task=TASK.",
    ]
    if found.key is not None:
        lines += [
            "",
            f"The first key: principal {_FIRST}, role {_FIRST}, every right, for a day. It is shown only now:",
            "",
            f"  {found.key}",
            "",
            f"  curl -H 'Authorization: Bearer {found.key}' {own}/v1/workspaces",
            "",
        ]
    elif found.counting:
        lines.append(f"API keys that count: {found.counting}.")
    else:
        add = f"readmit credentials add NAME --role ROLE{invocation.store_options}"
        lines.append(f"No API key counts yet, so nobody can call by one. Make the first: `{add}`")
    if serving.issuers is not None:
        lines.append(f"Tokens of the providers in {serving.issuers} count too.")
    if exported:
        lines.append(exported)
    lines.append("Stop it with Ctrl-C.")
    invocation.say({"url": own, "keys": found.counting, "first_key": found.key}, *lines)
