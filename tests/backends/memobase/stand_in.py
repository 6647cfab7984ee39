"""A stand-in for the Memobase server, which is not on the package index. Not Memobase: no database, no model.

It speaks the same protocol: the paths that the client calls, answers in the client's own models, refusals as ``errno``
in an answer of status 200, chats that are deleted once they were processed, slots that accumulate, and a context that
goes on listing an event whose slot was replaced. Where the server asks a language model, a rule stands: a message
``topic/sub topic: memo`` goes into that slot, any other into one named after its first word. Likeness is lexical.

Run ``make test-memobase URL=… KEY=…`` for the same tests against a real server.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections import defaultdict
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from memobase.core.type import BaseResponse
from memobase.core.user import EventData, EventTag, ProfileDelta, UserEventData, UserProfileData

from readmit.models.embedders import Lexical

KEY = "stand-in-key"
_PREFIX = "/api/v1"
_embed = Lexical().embed


class Refusal(Exception):  # noqa: N818 - an answer, not an error
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Project:
    """What the server keeps."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.buffer: dict[str, list[str]] = defaultdict(list)
        self.profiles: dict[str, dict[str, UserProfileData]] = defaultdict(dict)
        self.events: dict[str, dict[str, UserEventData]] = defaultdict(dict)
        self.vectors: dict[str, Any] = {}
        self.fails = ""
        """What the language model fails with; empty while it works."""

    def user(self, name: str) -> str:
        if name not in self.users:
            raise Refusal(404, f"User {name} not found")
        return name

    def process(self, user: str) -> dict[str, Any] | None:
        waiting, self.buffer[user] = self.buffer[user], []
        if not waiting:
            return None
        if self.fails:
            raise Refusal(500, self.fails)
        added: list[str] = []
        updated: list[str] = []
        deltas: list[ProfileDelta] = []
        for text in waiting:
            topic, sub_topic, memo = _slot(text)
            attributes = {"topic": topic, "sub_topic": sub_topic}
            deltas.append(ProfileDelta(content=memo, attributes=attributes))
            held = [one for one in self.profiles[user].values() if one.attributes == attributes]
            if held:
                merged = f"{held[0].content}; {memo}"
                self.profiles[user][str(held[0].id)] = held[0].model_copy(
                    update={"content": merged, "updated_at": _now()}
                )
                updated.append(str(held[0].id))
            else:
                added.append(self.add_profile(user, memo, attributes))
        tip = " ".join(waiting)
        event = UserEventData(
            id=uuid.uuid4(),
            event_data=EventData(profile_delta=deltas, event_tip=tip, event_tags=[EventTag(tag="kind", value="chat")]),
            created_at=_now(),
            updated_at=_now(),
        )
        self.events[user][str(event.id)] = event
        self.vectors[str(event.id)] = _embed([tip])[0]
        return {
            "event_id": str(event.id), "add_profiles": added, "update_profiles": updated, "delete_profiles": [],
        }  # fmt: skip

    def add_profile(self, user: str, content: str, attributes: dict[str, str]) -> str:
        made = UserProfileData(
            id=uuid.uuid4(), content=content, attributes=attributes, created_at=_now(), updated_at=_now()
        )
        self.profiles[user][str(made.id)] = made
        return str(made.id)


def _slot(text: str) -> tuple[str, str, str]:
    said = re.match(r"(\w+)/(\w+): (.*)", text, re.DOTALL)
    return (said[1], said[2], said[3]) if said else ("notes", text.split(maxsplit=1)[0].lower(), text)


def _now() -> datetime:
    return datetime.now(UTC)


class StandIn(ThreadingHTTPServer):
    """A server on a free port of this machine."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.project = Project()
        self.lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"
    # One packet per answer: two of them wait for each other's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None: ...

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        parts = urlsplit(self.path)
        asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        status, response = 200, BaseResponse(data=None, errmsg="", errno=0)
        if parts.path != f"{_PREFIX}/healthcheck" and self.headers.get("Authorization") != f"Bearer {KEY}":
            status, response = 401, BaseResponse(data=None, errmsg="Unauthorized", errno=401)
        else:
            try:
                with self.server.lock:
                    response.data = self._route(parts.path.removeprefix(_PREFIX), asked, body)
            except Refusal as refusal:
                response = BaseResponse(data=None, errmsg=str(refusal), errno=refusal.code)
        body = response.model_dump_json().encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the base class's names

    def _route(self, path: str, asked: dict[str, str], body: Any) -> Any:
        for method, pattern, action in _ROUTES:
            found = re.fullmatch(pattern, path)
            if self.command == method and found:
                return action(self.server.project, *found.groups(), asked=asked, body=body)
        raise Refusal(404, f"Not Found: {self.command} {path}")


def _healthcheck(project: Project, **_: Any) -> None: ...


def _add_user(project: Project, *, body: Any, **_: Any) -> Any:
    name = str(uuid.UUID(body["id"])) if body.get("id") else str(uuid.uuid4())
    project.users[name] = body.get("data") or {}
    return {"id": name}


def _get_user(project: Project, user: str, **_: Any) -> Any:
    return {"data": project.users[project.user(user)]}


def _insert(project: Project, user: str, *, body: Any, **_: Any) -> Any:
    messages = body["blob_data"]["messages"]
    project.buffer[project.user(user)].append("\n".join(one["content"] for one in messages))
    return {"id": str(uuid.uuid4()), "chat_results": []}


def _capacity(project: Project, user: str, **_: Any) -> Any:
    return {"ids": [str(uuid.uuid4()) for _ in project.buffer[project.user(user)]]}


def _flush(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    result = project.process(project.user(user))
    if asked.get("wait_process", "").lower() != "true":
        return None
    return [] if result is None else [result]


def _profiles(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    listed = sorted(project.profiles[project.user(user)].values(), key=lambda one: one.updated_at, reverse=True)
    room, profiles = int(asked.get("max_token_size", 10**9)), []
    for one in listed:
        room -= len(one.content.split())
        if room >= 0:
            profiles.append(one.model_dump(mode="json"))
    return {"profiles": profiles}


def _add_profile(project: Project, user: str, *, body: Any, **_: Any) -> Any:
    return {"id": project.add_profile(project.user(user), body["content"], body["attributes"])}


def _put_profile(project: Project, user: str, profile: str, *, body: Any, **_: Any) -> Any:
    held = project.profiles[project.user(user)].get(profile)
    if held is None:
        raise Refusal(404, f"Profile {profile} not found")
    change = {"content": body["content"], "attributes": body["attributes"], "updated_at": _now()}
    project.profiles[user][profile] = held.model_copy(update=change)


def _delete_profile(project: Project, user: str, profile: str, **_: Any) -> Any:
    if project.profiles[project.user(user)].pop(profile, None) is None:
        raise Refusal(404, f"Profile {profile} not found")


def _newest(project: Project, user: str) -> list[UserEventData]:
    return sorted(project.events[project.user(user)].values(), key=lambda one: one.created_at, reverse=True)


def _events(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    listed = _newest(project, user)[: int(asked.get("topk", 10))]
    return {"events": [one.model_dump(mode="json") for one in listed]}


def _search(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    question = _embed([asked["query"]])[0]
    scored = [(float(project.vectors[str(one.id)] @ question), one) for one in _newest(project, user)]
    least = float(asked.get("similarity_threshold", 0.2))
    ranked = sorted((one for one in scored if one[0] > least), key=lambda one: -one[0])[: int(asked.get("topk", 10))]
    return {"events": [one.model_copy(update={"similarity": score}).model_dump(mode="json") for score, one in ranked]}


def _put_event(project: Project, user: str, event: str, *, body: Any, **_: Any) -> Any:
    held = project.events[project.user(user)].get(event)
    if held is None or held.event_data is None:
        raise Refusal(404, f"User event {event} not found")
    change = {name: value for name, value in body.items() if value is not None}
    data = EventData.model_validate(held.event_data.model_dump() | change)
    # As on the real server, the vector stays that of the former text.
    project.events[user][event] = held.model_copy(update={"event_data": data, "updated_at": _now()})


def _delete_event(project: Project, user: str, event: str, **_: Any) -> Any:
    if project.events[project.user(user)].pop(event, None) is None:
        raise Refusal(404, f"User event {event} not found")


def _context(project: Project, user: str, **_: Any) -> Any:
    slots = [f"- {one.to_ds().describe}" for one in project.profiles[project.user(user)].values()]
    events = [f"- {one.event_data.event_tip}" for one in _newest(project, user) if one.event_data]
    return {"context": "\n".join(["# Memory", "## Profile", *slots, "## Latest events", *events])}


_ID = r"([0-9a-f-]{36})"
_ROUTES: list[tuple[str, str, Any]] = [
    ("GET", "/healthcheck", _healthcheck),
    ("POST", "/users", _add_user),
    ("GET", f"/users/{_ID}", _get_user),
    ("POST", f"/blobs/insert/{_ID}", _insert),
    ("GET", f"/users/buffer/capacity/{_ID}/chat", _capacity),
    ("POST", f"/users/buffer/{_ID}/chat", _flush),
    ("GET", f"/users/profile/{_ID}", _profiles),
    ("POST", f"/users/profile/{_ID}", _add_profile),
    ("PUT", f"/users/profile/{_ID}/{_ID}", _put_profile),
    ("DELETE", f"/users/profile/{_ID}/{_ID}", _delete_profile),
    ("GET", f"/users/event/{_ID}", _events),
    ("PUT", f"/users/event/{_ID}/{_ID}", _put_event),
    ("DELETE", f"/users/event/{_ID}/{_ID}", _delete_event),
    ("GET", f"/users/event/search/{_ID}", _search),
    ("GET", f"/users/context/{_ID}", _context),
]
