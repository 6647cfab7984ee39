"""The calls that the Memobase adapter makes, over the client's own connection, with errors that say what to do.

Client methods that lose data are not used: ``flush`` discards its answer, ``profile`` cuts the list at 1,000 tokens by
default, ``event`` ends at 21 days, and queries are not escaped in URLs. Written for server 0.0.42, which reports
refusals and even its own exceptions as ``errno`` in an answer of status 200.
"""

from __future__ import annotations

import json
import time
import uuid
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from readmit.models.endpoint import in_clear
from readmit.records.error_types import BackendError, RecordError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_USERS = uuid.UUID("5f0dbe5c-5f3c-5c0e-9d39-2f1e8f8f7a11")
_ALWAYS = 36_500
_NOT_FOUND, _SERVER_ERROR, _NO_EMBEDDINGS, _EMBEDDINGS_DOWN = 404, 500, 501, 503
_FIRST_PAGE = 1_000
_PAUSE = 0.05
_LONGEST_MESSAGE = 300
# The server's tokenizer raises on the texts of its special tokens, and its database on NUL. Both would be status 500,
# after the chat was stored; in a slot, they would end every later listing by tokens and the native context.
_REFUSED = ("\0", "<|endoftext|>", "<|endofprompt|>")


class Flushed(NamedTuple):
    """The server's report of one flush."""

    added: tuple[str, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]
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
        self._timeout = timeout
        self._there: set[str] = set()
        self._late: dict[str, list[str]] = {}
        try:
            self._call("GET", "/healthcheck")
        except BaseException:
            self.close()
            raise

    def ensure(self, user: str) -> None:
        """Create a user unless it is there."""
        if user in self._there or self.has(user):
            self._there.add(user)
            return
        try:
            self._call("POST", "/users", {"id": user, "data": {"made_by": "readmit"}})
        except BackendError:
            # Created meanwhile by someone else: the server answers that with a 500.
            if not self.has(user):
                raise
        self._there.add(user)

    def has(self, user: str) -> bool:
        """Whether there is such a user. Lists do not tell: for a user that is missing they are empty."""
        found = self._call("GET", f"/users/{user}", instead={_NOT_FOUND: None}) is not None
        if not found:
            self._there.discard(user)
        return found

    def await_flush(self, user: str) -> None:
        """Wait for a flush whose answer was not waited for: its slots must not be taken for those of the next one."""
        if waiting := self._unended(user):
            raise BackendError(
                f"{self._url}: {waiting} chat(s) of user {user} are still being processed, after "
                f"{self._timeout:g} seconds; nothing was sent. Form it later. If the server was stopped while it "
                "processed them, they stay so: delete them with memory.mend(), or `readmit backends mend`"
            )
        late = self._late.pop(user, ())
        for text in late if late and self._buffered(user, "failed") else ():
            self._delete_chat(user, text)

    def _unended(self, user: str) -> int:
        """How many chats are still being processed when the time is up."""
        end = time.monotonic() + self._timeout
        while waiting := self._buffered(user, "processing"):
            if time.monotonic() >= end:
                return len(waiting)
            time.sleep(_PAUSE)
        return 0

    def abandon(self, user: str) -> int:
        """Delete a user's chats if some of them are still being processed when the time is up. Returns how many."""
        if not self._unended(user):
            return 0
        self._late.pop(user, None)
        chats = self._chats(user)
        for blob in chats:
            self._call("DELETE", f"/blobs/{user}/{blob}")
        return len(chats)

    def _chats(self, user: str) -> list[str]:
        page, stored = 0, []
        while ids := self._call("GET", f"/users/blobs/{user}/chat?page={page}&page_size={_FIRST_PAGE}")["ids"]:
            stored += ids
            page += 1
        return stored

    def flush(self, user: str, text: str) -> Flushed:
        """Process one chat message now, and return the changed slots and events."""
        waiting = len(self._buffered(user, "idle"))
        message = {"blob_type": "chat", "fields": None, "blob_data": {"messages": [{"role": "user", "content": text}]}}
        with self._left_nothing(user, text):
            inserted = self._call("POST", f"/blobs/insert/{user}?wait_process=true", message)
            results = list(inserted.get("chat_results") or [])
            # A long message is processed at once; then the buffer is empty.
            alone = waiting == 0 and len(self._buffered(user, "idle")) == (0 if results else 1)
            alone = alone and not self._buffered(user, "processing")
            results += self._call("POST", f"/users/buffer/{user}/chat?wait_process=true") or []
        if not results:
            raise BackendError(
                f"{self._url}: the flush answered nothing; it must run synchronously (wait_process=true) and have a "
                "language model"
            )
        return Flushed(
            added=_named(results, "add_profiles"),
            updated=_named(results, "update_profiles"),
            deleted=_named(results, "delete_profiles"),
            events=tuple(result["event_id"] for result in results if result.get("event_id")),
            alone=alone,
        )

    @contextmanager
    def _left_nothing(self, user: str, text: str) -> Iterator[None]:
        """Delete the chat of a flush that failed: the server would keep its text and never process it."""
        try:
            yield
        except BackendError as error:
            # No answer is no failure: the flush may go on, and its chat shows that until it ends.
            if _unanswered(error):
                self._late.setdefault(user, []).append(text)
                raise BackendError(
                    f"{error}; the server may still process this chat of user {user}. What it makes of it has no "
                    "source and stays out of every view; the next call waits until it is done"
                ) from error
            try:
                self._delete_chat(user, text)
            except BackendError as kept:
                raise BackendError(f"{error}; the chat may stay stored for user {user}: {kept}") from error
            raise

    def _delete_chat(self, user: str, text: str) -> None:
        if self._buffered(user, "processing"):
            # It would be processed all the same, and no longer show.
            raise BackendError(f"{self._url}: chats of user {user} are being processed; call again later")
        for blob in reversed(self._chats(user)):
            found = self._call("GET", f"/blobs/{user}/{blob}", instead={_NOT_FOUND: None})
            if found and [one.get("content") for one in found["blob_data"].get("messages") or ()] == [text]:
                self._call("DELETE", f"/blobs/{user}/{blob}")
                return

    def _buffered(self, user: str, status: str) -> list[str]:
        found: list[str] = self._call("GET", f"/users/buffer/capacity/{user}/chat?status={status}")["ids"]
        return found

    def profiles(self, user: str) -> list[dict[str, Any]]:
        """Every slot of a user, possibly as it was up to 20 minutes ago."""
        return _listed(self._call("GET", f"/users/profile/{user}"), "profiles")

    def refresh(self, user: str) -> None:
        """Drop the server's cached list of slots.

        A worker that reads while another one writes caches the former list for 20 minutes. Any update drops it, also
        one of a slot that does not exist.
        """
        body = {"content": "", "attributes": None}
        self._call("PUT", f"/users/profile/{user}/{uuid.uuid4()}", body, instead={_NOT_FOUND: None})

    def add_profile(self, user: str, content: str, topic: str, sub_topic: str) -> str:
        """A slot, written as it is."""
        body = {"content": content, "attributes": {"topic": topic, "sub_topic": sub_topic}}
        try:
            return str(self._call("POST", f"/users/profile/{user}", body)["id"])
        except BackendError as error:
            # Perhaps the user was deleted: look again next time.
            self._there.discard(user)
            if _unanswered(error):
                raise BackendError(f"{error}; it may have been written all the same, without a source") from error
            raise

    def update_profile(self, user: str, profile: str, content: str) -> None:
        """Replace a slot's content. The answer is the same if there is no such slot, so it is read back."""
        held = [one for one in self.profiles(user) if one["id"] == profile]
        if held:
            body = {"content": content, "attributes": held[0]["attributes"]}
            self._call("PUT", f"/users/profile/{user}/{profile}", body)
            self.refresh(user)
            held = [one for one in self.profiles(user) if one["id"] == profile and one["content"] == content]
        if not held:
            raise UnknownError(f"no slot {profile!r} of user {user} at {self._url}; list them first")

    def events(self, user: str, most: int | None = None) -> list[dict[str, Any]]:
        """A user's events of any age, newest first.

        Uses the search by tags, without a tag: the list ends at 21 days, and the search by likeness leaves out events
        formed while the server had no embeddings.
        """
        wanted = most or _FIRST_PAGE
        while True:
            found = _listed(self._call("GET", f"/users/event_tags/search/{user}?topk={wanted}"), "events")
            if most or len(found) < wanted:
                return found
            wanted *= 4

    def likeness(self, user: str, query: str, most: int) -> dict[str, float]:
        """Events by likeness to a question. Empty if the server has no embeddings, or cannot reach them now."""
        if refused(query):
            return {}
        asked = f"query={quote(query, safe='')}&topk={most}&similarity_threshold=-2&time_range_in_days={_ALWAYS}"
        without: dict[str, list[Any]] = {"events": []}
        answer = self._call(
            "GET", f"/users/event/search/{user}?{asked}", instead={_NO_EMBEDDINGS: without, _EMBEDDINGS_DOWN: without}
        )
        return {one["id"]: float(one["similarity"]) for one in _listed(answer, "events")}

    def delete(self, user: str, kind: str, native: str) -> None:
        """Remove a slot or an event, with the event's gists."""
        gone: Any = self._call("DELETE", f"/users/{kind}/{user}/{native}", instead={_NOT_FOUND: _NOT_FOUND})
        if gone == _NOT_FOUND:
            raise UnknownError(f"no {kind} {native!r} of user {user} at {self._url}; list them first")

    def close(self) -> None:
        self.client.client.close()

    def _call(self, method: str, path: str, body: Any = None, *, instead: Mapping[int, Any] | None = None) -> Any:
        """The data of an answer; for some error codes a given value instead."""
        with self._translated(method, path):
            response = self.client.client.request(method, path, json=body)
            refused_key = response.status_code in (401, 403)
            if not refused_key:
                response.raise_for_status()
            answer = {"errno": response.status_code} if refused_key else response.json()
        code = answer.get("errno", 0)
        if code in (401, 403):
            raise BackendError(
                f"api_key: {self._url} does not accept it; give the token that the server was started with"
            )
        if instead is not None and code in instead:
            return instead[code]
        if code != 0:
            message = " ".join(str(answer.get("errmsg", "")).split())[:_LONGEST_MESSAGE]
            raise BackendError(f"{self._url}: {method} {path.partition('?')[0]}: {code} {message}")
        return answer.get("data")

    @contextmanager
    def _translated(self, method: str, path: str) -> Iterator[None]:
        http: Any = import_module("httpx")
        try:
            yield
        except (http.ConnectError, http.ConnectTimeout) as error:
            raise BackendError(f"url: {self._url} cannot be reached: {error}; is the server running?") from error
        except http.TransportError as error:
            raise BackendError(
                f"{self._url}: {method} {path.partition('?')[0]}: no answer ({type(error).__name__}, timeout="
                f"{self._timeout:g} seconds)"
            ) from error
        except http.HTTPStatusError as error:
            status = error.response.status_code
            advice = "this adapter knows server 0.0.42" if status == _NOT_FOUND else "see the server's log"
            raise BackendError(f"{self._url}: {method} {path.partition('?')[0]}: {status}; {advice}") from error
        except ValueError as error:
            raise BackendError(f"url: {self._url} does not answer as Memobase does: {error}") from error


def user_id(*names: str) -> str:
    """The id of the user with these names. Memobase takes ids of version 4 or 5 only."""
    return str(uuid.uuid5(_USERS, json.dumps(names)))


def event_text(event: dict[str, Any]) -> str:
    """The whole text of an event."""
    data = event.get("event_data") or {}
    deltas = [one.get("content") for one in data.get("profile_delta") or ()]
    tags = [f"{one.get('tag')}: {one.get('value')}" for one in data.get("event_tags") or ()]
    return "\n".join(part for part in (data.get("event_tip"), *deltas, *tags) if part)


def event_topics(event: dict[str, Any]) -> frozenset[str]:
    """The topics of the slots that an event quotes."""
    return frozenset(place(one)[0] for one in (event.get("event_data") or {}).get("profile_delta") or ())


def place(slot: dict[str, Any]) -> tuple[str, str]:
    """The topic and the sub topic of a slot."""
    attributes = slot.get("attributes") or {}
    return str(attributes.get("topic", "")), str(attributes.get("sub_topic", ""))


def refused(text: str) -> str | None:
    """The characters of a text that the server cannot take."""
    return next((one for one in _REFUSED if one in text), None)


def sendable(field: str, text: str) -> None:
    """Refuse a text that the server would fail on."""
    if found := refused(text):
        raise RecordError(f"{field}: {found!r} cannot be sent to Memobase, whose server fails on it; remove it first")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise RecordError(f"{field}: it holds a character that UTF-8 cannot encode; remove it first")


def _named(results: Sequence[Mapping[str, Any]], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(one) for result in results for one in result.get(key) or ()))


def _unanswered(error: BackendError) -> bool:
    """Whether a request was sent and the server itself did not answer it: a proxy may have given up before."""
    http: Any = import_module("httpx")
    cause = error.__cause__
    if cause is None or isinstance(cause, http.ConnectError | http.ConnectTimeout):
        return False
    return not isinstance(cause, http.HTTPStatusError) or cause.response.status_code >= _SERVER_ERROR


def _listed(answer: Any, name: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = [dict(one) | {"id": str(one["id"])} for one in answer[name]]
    except (KeyError, TypeError) as error:
        raise BackendError(
            f"Memobase answered without {name}: {error}; this adapter knows client 0.0.27 and server 0.0.42"
        ) from error
    return found
