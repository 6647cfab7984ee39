"""The calls that the Memobase adapter makes, over the client's own connection, with errors that say what to do.

Client methods that lose data are not used: ``flush`` discards its answer, ``profile`` cuts the list at 1,000 tokens by
default, and queries are not escaped in URLs.
"""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from readmit.records.addresses import in_clear
from readmit.records.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILE, EVENT = "profile", "event"
_USERS = uuid.UUID("5f0dbe5c-5f3c-5c0e-9d39-2f1e8f8f7a11")
_ALWAYS = 36_500
_NOT_FOUND = 404


class Flushed(NamedTuple):
    """What one flush did, as the server reports it."""

    added: tuple[str, ...]
    updated: tuple[str, ...]
    events: tuple[str, ...]
    alone: bool
    """Whether only our own chat was in the buffer."""


class Server:
    """A Memobase server."""

    def __init__(self, url: str, api_key: str, timeout: float) -> None:
        if not url:
            raise BackendError("url: name the Memobase server, as http://localhost:8019")
        if not api_key:
            raise BackendError("api_key: give the project's key, as the server's ACCESS_TOKEN")
        if in_clear(url):
            raise BackendError(
                f"api_key: a key is not sent to {urlsplit(url).hostname} over http://, where others can read it; use "
                "https://, or a tunnel on this machine (ssh -L 8019:localhost:8019 HOST, url=http://localhost:8019)"
            )
        try:
            self.client: Any = import_module("memobase").MemoBaseClient(api_key=api_key, project_url=url)
        except ValueError as error:
            raise BackendError(f"url: {url!r} is not an address: {error}") from error
        self.client.client.timeout = timeout
        self._url = url
        self._there: set[str] = set()
        try:
            self._call("GET", "/healthcheck")
        except BaseException:
            self.close()
            raise

    def user(self, workspace: str, name: str, owner: str) -> str:
        """One user per bank. Memobase takes ids of version 4 or 5 only."""
        return str(uuid.uuid5(_USERS, json.dumps([workspace, name, owner])))

    def ensure(self, user: str) -> None:
        """Create a user unless it is there."""
        if user not in self._there and self._call("GET", f"/users/{user}", absent=None) is None:
            self._call("POST", "/users", {"id": user, "data": {"made_by": "readmit"}})
        self._there.add(user)

    def flush(self, user: str, text: str) -> Flushed:
        """Process one chat message now, and return what it changed."""
        waiting = len(self._waiting(user))
        message = {"blob_type": "chat", "fields": None, "blob_data": {"messages": [{"role": "user", "content": text}]}}
        inserted = self._call("POST", f"/blobs/insert/{user}?wait_process=true", message)
        results = list(inserted.get("chat_results") or [])
        # A long message is processed at once; then the buffer is empty.
        alone = waiting == 0 and len(self._waiting(user)) == (0 if results else 1)
        results += self._call("POST", f"/users/buffer/{user}/chat?wait_process=true") or []
        if not results:
            raise BackendError(
                f"{self._url}: the flush answered nothing; it must run synchronously (wait_process=true) and have a "
                "language model"
            )
        return Flushed(
            tuple(one for result in results for one in result.get("add_profiles") or ()),
            tuple(one for result in results for one in result.get("update_profiles") or ()),
            tuple(result["event_id"] for result in results if result.get("event_id")),
            alone,
        )

    def _waiting(self, user: str) -> list[str]:
        found: list[str] = self._call("GET", f"/users/buffer/capacity/{user}/chat?status=idle")["ids"]
        return found

    def profiles(self, user: str) -> list[dict[str, Any]]:
        """Every slot of a user."""
        answer = self._call("GET", f"/users/profile/{user}", absent=None)
        return [] if answer is None else _listed(answer, "profiles")

    def add_profile(self, user: str, content: str, topic: str, sub_topic: str) -> str:
        """A slot, written as it is."""
        body = {"content": content, "attributes": {"topic": topic, "sub_topic": sub_topic}}
        return str(self._call("POST", f"/users/profile/{user}", body)["id"])

    def update_profile(self, user: str, profile: str, content: str) -> None:
        """Replace a slot's content."""
        (held,) = [one for one in self.profiles(user) if one["id"] == profile]
        body = {"content": content, "attributes": held["attributes"]}
        self._call("PUT", f"/users/profile/{user}/{profile}", body)

    def events(self, user: str, most: int) -> list[dict[str, Any]]:
        """A user's events, newest first."""
        answer = self._call("GET", f"/users/event/{user}?topk={most}", absent=None)
        return [] if answer is None else _listed(answer, "events")

    def search_events(self, user: str, query: str, most: int) -> list[dict[str, Any]]:
        """Events by likeness to a question, all of them."""
        asked = f"query={quote(query, safe='')}&topk={most}&similarity_threshold=-1&time_range_in_days={_ALWAYS}"
        answer = self._call("GET", f"/users/event/search/{user}?{asked}", absent=None)
        return [] if answer is None else _listed(answer, "events")

    def update_event(self, user: str, event: str, text: str) -> None:
        """Replace an event's text. Its rank in searches stays."""
        body = {"profile_delta": [], "event_tip": text, "event_tags": []}
        self._call("PUT", f"/users/event/{user}/{event}", body)

    def delete(self, user: str, kind: str, native: str) -> None:
        """Remove a slot or an event."""
        self._call("DELETE", f"/users/{kind}/{user}/{native}")

    def close(self) -> None:
        self.client.client.close()

    def _call(self, method: str, path: str, body: Any = None, **absent: Any) -> Any:
        """The data of an answer, or ``absent`` if there is none."""
        with self._translated(method, path):
            response = self.client.client.request(method, path, json=body)
            refused = response.status_code in (401, 403)
            if not refused and not (absent and response.status_code == _NOT_FOUND):
                response.raise_for_status()
            answer = (
                {"errno": response.status_code} if refused or response.status_code == _NOT_FOUND else response.json()
            )
        code = answer.get("errno", 0)
        if code in (401, 403):
            raise BackendError(f"api_key: {self._url} does not accept it")
        if code == _NOT_FOUND and absent:
            return absent["absent"]
        if code != 0:
            raise BackendError(f"{self._url}: {method} {path.partition('?')[0]}: {code} {answer.get('errmsg', '')}")
        return answer.get("data")

    @contextmanager
    def _translated(self, method: str, path: str) -> Iterator[None]:
        http: Any = import_module("httpx")
        try:
            yield
        except http.TransportError as error:
            raise BackendError(f"url: {self._url} cannot be reached: {error}; is the server running?") from error
        except http.HTTPStatusError as error:
            status = error.response.status_code
            raise BackendError(
                f"{self._url}: {method} {path.partition('?')[0]}: {status}; see the server's log"
            ) from error
        except ValueError as error:
            raise BackendError(f"url: {self._url} does not answer as Memobase does: {error}") from error


def event_text(event: dict[str, Any]) -> str:
    """The whole text of an event."""
    data = event.get("event_data") or {}
    deltas = [one.get("content") for one in data.get("profile_delta") or ()]
    tags = [f"{one.get('tag')}: {one.get('value')}" for one in data.get("event_tags") or ()]
    return "\n".join(part for part in (data.get("event_tip"), *deltas, *tags) if part)


def _listed(answer: Any, name: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = [dict(one) | {"id": str(one["id"])} for one in answer[name]]
    except (KeyError, TypeError) as error:
        raise BackendError(f"Memobase answered without {name}: {error}; this adapter knows client 0.0.27") from error
    return found
