"""A stand-in for the Memobase server, which is not on the package index. Not Memobase: no database, no model.

It serves HTTP on a port, with the paths, parameters, answers and refusals of server 0.0.42: an ``errno`` in an answer
of status 200, except for a wrong key (401), an id that is none (422) and an unknown path (404). ``project.py`` is what
it does. ``test_server.py`` holds both, this one and a real one, to the same behavior.

    python -m tests.backends.memobase.stand_in 8019     serve it; make test-memobase URL=http://localhost:8019 KEY=…
"""

from __future__ import annotations

import json
import re
import sys
import threading
import uuid
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from memobase.core.type import BaseResponse

from tests.backends.memobase.project import LISTED_DAYS, Project, Refusal, recent, stored, tokens

KEY = "stand-in-key"
_PREFIX = "/api/v1"


class StandIn(ThreadingHTTPServer):
    """A server on a port of this machine, by default a free one."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.project = Project()
        self.gives_up = False
        """Whether a proxy before the server does not wait for a flush."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.project.thinking.set()
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
        asked = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        if parts.path != f"{_PREFIX}/healthcheck" and self.headers.get("Authorization") != f"Bearer {KEY}":
            self._send(401, BaseResponse(data=None, errmsg="Unauthorized", errno=401).model_dump_json())
            return
        action, ids = self._route(parts.path.removeprefix(_PREFIX))
        if action is None:
            self._send(404, '{"detail":"Not Found"}')
        elif not all(map(_is_id, ids)):
            self._send(422, '{"detail":[{"type":"uuid_parsing","loc":["path","user_id"],"msg":"not a valid UUID"}]}')
        elif self.server.gives_up and action is _flush:
            threading.Thread(target=self.server.project.flush, args=ids, daemon=True).start()
            self._send(504, "<html>Gateway Timeout</html>")
        else:
            response = BaseResponse(data=None, errmsg="", errno=0)
            try:
                project = self.server.project
                # These two ask the model, and let others in meanwhile.
                with nullcontext() if action in (_insert, _flush) else project.lock:
                    response.data = action(project, *ids, asked=asked, body=body)
            except Refusal as refusal:
                response = BaseResponse(data=None, errmsg=str(refusal), errno=refusal.code)
            self._send(200, response.model_dump_json())

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            # The client did not wait for the answer.
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the base class's names

    def _route(self, path: str) -> tuple[Any, tuple[str, ...]]:
        for method, pattern, action in _ROUTES:
            found = re.fullmatch(pattern, path)
            if self.command == method and found:
                return action, found.groups()
        return None, ()


def _is_id(name: str) -> bool:
    try:
        return uuid.UUID(name).version in (4, 5)
    except ValueError:
        return False


def _healthcheck(project: Project, **_: Any) -> None: ...


def _add_user(project: Project, *, body: Any, **_: Any) -> Any:
    name = body.get("id") or str(uuid.uuid4())
    if name in project.users:
        raise Refusal(500, f"unknown error: UniqueViolation: Key (id)=({name}) already exists.")
    project.users[name] = body.get("data") or {}
    return {"id": name}


def _get_user(project: Project, user: str, **_: Any) -> Any:
    if user not in project.users:
        raise Refusal(404, f"User {user} not found")
    return {"data": project.users[user]}


def _delete_user(project: Project, user: str, **_: Any) -> Any:
    _get_user(project, user)
    for kept in (project.users, project.blobs, project.buffer, project.profiles, project.events, project.gists):
        kept.pop(user, None)
    project.cached.pop(user, None)


def _insert(project: Project, user: str, *, asked: dict[str, str], body: Any) -> Any:
    text = "\n".join(one["content"] for one in body["blob_data"]["messages"])
    blob, full = project.insert(user, text)
    return {"id": blob, "chat_results": (_flush(project, user, asked=asked) or []) if full else []}


def _blobs(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    page, size = int(asked.get("page", 0)), int(asked.get("page_size", 10))
    return {"ids": list(project.blobs[user])[page * size : (page + 1) * size]}


def _get_blob(project: Project, user: str, blob: str, **_: Any) -> Any:
    if blob not in project.blobs[user]:
        raise Refusal(404, f"Blob with id {blob} of user {user} not found")
    messages = [{"role": "user", "content": project.blobs[user][blob], "alias": None, "created_at": None}]
    return {"blob_type": "chat", "blob_data": {"messages": messages}, "fields": None}


def _delete_blob(project: Project, user: str, blob: str, **_: Any) -> Any:
    project.remove_blob(user, blob)


def _capacity(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    return {"ids": project.rows(user, asked.get("status", "processing"))}


def _flush(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    if asked.get("wait_process", "").lower() == "true":
        return project.flush(user)
    threading.Thread(target=project.flush, args=(user,), daemon=True).start()
    return None


def _profiles(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    profiles, room = project.listed(user), int(asked.get("max_token_size", 0))
    if room:
        used, kept = 0, 0
        for number, one in enumerate(profiles):
            used += len(tokens(one.content))
            if used > room:
                break
            kept = number
        profiles = profiles[: kept + 1]
    return {"profiles": [one.model_dump(mode="json") for one in profiles]}


def _add_profile(project: Project, user: str, *, body: Any, **_: Any) -> Any:
    return {"id": project.add_profile(user, body["content"], body["attributes"])}


def _put_profile(project: Project, user: str, profile: str, *, body: Any, **_: Any) -> Any:
    project.put_profile(user, profile, body["content"], body["attributes"])


def _delete_profile(project: Project, user: str, profile: str, **_: Any) -> Any:
    project.delete_profile(user, profile)


def _events(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    listed = [one for one in project.newest(user) if recent(one.created_at, LISTED_DAYS)]
    return _event_list(listed[: int(asked.get("topk", 10))])


def _tagged(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    """Without a tag: every event, however old, with or without a vector."""
    tags = [one.strip() for one in asked.get("tags", "").split(",") if one.strip()]
    found = [
        one
        for one in project.newest(user)
        if {*tags} <= {tag.tag for tag in (one.event_data and one.event_data.event_tags) or ()}
    ]
    return _event_list(found[: int(asked.get("topk", 10))])


def _search(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    days = int(asked.get("time_range_in_days", 180))
    events = {str(one.id): one for one in project.newest(user) if recent(one.created_at, days)}
    found = _ranked(project.scores(asked["query"], [*events]), asked)
    return _event_list([events[name].model_copy(update={"similarity": score}) for name, score in found])


def _search_gists(project: Project, user: str, *, asked: dict[str, str], **_: Any) -> Any:
    days = int(asked.get("time_range_in_days", 180))
    gists = {str(one.data.id): one.data for one in project.gists[user] if recent(one.data.created_at, days)}
    found = _ranked(project.scores(asked["query"], [*gists]), asked)
    made = [gists[name].model_copy(update={"similarity": score}).model_dump(mode="json") for name, score in found]
    return {"gists": made, "events": []}


def _ranked(scores: dict[str, float], asked: dict[str, str]) -> list[tuple[str, float]]:
    least = float(asked.get("similarity_threshold", 0.2))
    ranked = sorted(((name, one) for name, one in scores.items() if one > least), key=lambda pair: -pair[1])
    return ranked[: int(asked.get("topk", 10))]


def _event_list(events: Any) -> Any:
    return {"events": [one.model_dump(mode="json") for one in events], "gists": []}


def _put_event(project: Project, user: str, event: str, *, body: Any, **_: Any) -> Any:
    stored(body.get("event_tip") or "")
    project.put_event(user, event, body)


def _delete_event(project: Project, user: str, event: str, **_: Any) -> Any:
    project.delete_event(user, event)


def _context(project: Project, user: str, **_: Any) -> Any:
    slots = [f"- {one.to_ds().describe}" for one in project.listed(user)]
    gists = [one.data for one in project.gists[user] if recent(one.data.created_at, LISTED_DAYS)]
    past = [one.gist_data.content for one in sorted(gists, key=lambda one: one.created_at, reverse=True)]
    for line in (*slots, *past):
        tokens(line)
    return {"context": "\n".join(["# Memory", "## User Current Profile:", *slots, "## Past Events:", *past])}


_ID = r"([^/]+)"
_ROUTES: list[tuple[str, str, Any]] = [
    ("GET", "/healthcheck", _healthcheck),
    ("POST", "/users", _add_user),
    ("GET", f"/users/{_ID}", _get_user),
    ("DELETE", f"/users/{_ID}", _delete_user),
    ("GET", f"/users/blobs/{_ID}/chat", _blobs),
    ("POST", f"/blobs/insert/{_ID}", _insert),
    ("GET", f"/blobs/{_ID}/{_ID}", _get_blob),
    ("DELETE", f"/blobs/{_ID}/{_ID}", _delete_blob),
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
    ("GET", f"/users/event_gist/search/{_ID}", _search_gists),
    ("GET", f"/users/event_tags/search/{_ID}", _tagged),
    ("GET", f"/users/context/{_ID}", _context),
]


if __name__ == "__main__":
    running = StandIn(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    sys.stdout.write(f"{running.url}  key {KEY}\n")
    sys.stdout.flush()
    threading.Event().wait()
