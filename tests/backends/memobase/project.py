"""What the stand-in keeps and does, as read in the source of Memobase's server 0.0.42.

Where the server asks a language model, a rule stands: a line ``topic/sub topic: memo`` goes into that slot, any other
into one named after its first word; a topic with too many slots is joined into few. Tokens are words, likeness is
lexical. Everything else follows the server: the states of a chat, what a failure leaves behind, the cache of lists.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memobase.core.user import EventData, EventGistData, UserEventData, UserEventGistData, UserProfileData

from readmit.models import Lexical

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SUBTOPICS = 15
LISTED_DAYS = 21
_FULL_BUFFER, _LONG_SLOT = 1024, 128
_SPECIAL = ("<|endoftext|>", "<|endofprompt|>")
_embed = Lexical().embed


class Refusal(Exception):  # noqa: N818 - an answer, not an error
    """The server's own refusals, and what its outermost handler makes of an exception: all with status 200."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Waiting(NamedTuple):
    """A chat in the buffer."""

    blob: str
    text: str
    status: Literal["idle", "processing", "failed", "done"]


class Gist(NamedTuple):
    """A line of an event's first text, with a vector of its own."""

    event: str
    data: UserEventGistData


class Project:
    """One project of the server, as all its workers see it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users: dict[str, dict[str, Any]] = {}
        self.blobs: dict[str, dict[str, str]] = defaultdict(dict)
        self.buffer: dict[str, dict[str, Waiting]] = defaultdict(dict)
        self.profiles: dict[str, dict[str, UserProfileData]] = defaultdict(dict)
        self.cached: dict[str, list[UserProfileData]] = {}
        self.events: dict[str, dict[str, UserEventData]] = defaultdict(dict)
        self.gists: dict[str, list[Gist]] = defaultdict(list)
        self.vectors: dict[str, Any] = {}
        self.embeddings: Literal["on", "off", "down"] = "on"
        self.fails = ""
        """What the language model fails with; empty while it works."""
        self.thinking = threading.Event()
        """Cleared while the language model takes its time."""
        self.thinking.set()
        self.seconds = 0.0
        """How long the language model takes."""
        self._late_readers: dict[str, list[UserProfileData]] = {}

    def written(self, user: str) -> None:
        """What every insert of a row checks: the user it belongs to."""
        if user not in self.users:
            raise Refusal(500, f"unknown error: ForeignKeyViolation: Key (user_id)=({user}) is not present")

    def insert(self, user: str, text: str) -> tuple[str, bool]:
        """Store a chat and put it into the buffer. Says whether that is full now, and must be processed."""
        with self.lock:
            self.written(user)
            stored(text)
            blob, row = str(uuid.uuid4()), str(uuid.uuid4())
            self.blobs[user][blob] = text
            # The chat is stored before its tokens are counted, and stays if that fails.
            tokens(text)
            self.buffer[user][row] = Waiting(blob, text, "idle")
            idle = self.rows(user, "idle")
            return blob, sum(len(tokens(self.buffer[user][one].text)) for one in idle) > _FULL_BUFFER

    def rows(self, user: str, status: str) -> list[str]:
        return [name for name, one in self.buffer[user].items() if one.status == status]

    def flush(self, user: str) -> list[dict[str, Any]]:
        """Process what is idle. A chat that another call is processing is left to it."""
        with self.lock:
            taken = self.rows(user, "idle")
            self._mark(user, taken, "processing")
            texts = [self.buffer[user][one].text for one in taken]
        if not taken:
            return []
        self.thinking.wait(60)
        time.sleep(self.seconds)
        with self.lock:
            if self.fails:
                self._mark(user, taken, "failed")
                raise Refusal(500, self.fails)
            made = self._process(user, texts)
            for one in taken:
                # Its row goes with the chat.
                self.remove_blob(user, self.buffer[user][one].blob)
        return [made]

    def remove_blob(self, user: str, blob: str) -> None:
        self.blobs[user].pop(blob, None)
        self.buffer[user] = {name: one for name, one in self.buffer[user].items() if one.blob != blob}

    def _mark(self, user: str, rows: Sequence[str], status: Literal["processing", "failed"]) -> None:
        for one in rows:
            self.buffer[user][one] = self.buffer[user][one]._replace(status=status)

    def _process(self, user: str, texts: Sequence[str]) -> dict[str, Any]:
        facts: dict[tuple[str, str], str] = {}
        for line in (line for text in texts for line in text.splitlines() if line.strip()):
            topic, sub_topic, memo = _slot(line)
            facts[topic, sub_topic] = "; ".join(filter(None, (facts.get((topic, sub_topic)), memo)))
        before = self.listed(user)
        held = {(one.attributes["topic"], one.attributes["sub_topic"]): one for one in before}
        add: list[dict[str, Any]] = []
        update: list[tuple[UserProfileData, str]] = []
        delta: list[dict[str, Any]] = []
        for (topic, sub_topic), memo in facts.items():
            fact = {"content": memo, "attributes": {"topic": topic, "sub_topic": sub_topic}}
            if (slot := held.get((topic, sub_topic))) is not None:
                update.append((slot, f"{slot.content};{memo}"))
            else:
                add.append(fact)
            delta.append(fact)
        joined, gone = _organized(before)
        # The event shares its parts with the slots that are about to be joined with older ones.
        add = _without_duplicates([*add, *joined])
        for one in add:
            one["content"] = _summary(one["content"])
        event = self._add_event(user, texts, delta)
        added = [self._add_slot(user, one["content"], one["attributes"]) for one in add]
        for slot, content in update:
            hits = {"update_hits": slot.attributes.get("update_hits", 0) + 1}
            self._put_slot(user, str(slot.id), _summary(content), slot.attributes | hits)
        for name in gone:
            self.profiles[user].pop(name, None)
        self._changed(user)
        updated = [str(slot.id) for slot, _ in update]
        return {"event_id": event, "add_profiles": added, "update_profiles": updated, "delete_profiles": gone}

    def _add_event(self, user: str, texts: Sequence[str], delta: list[dict[str, Any]]) -> str:
        tip = "\n".join(f"- {text}" for text in texts)
        data = EventData.model_validate(
            {"profile_delta": delta, "event_tip": tip, "event_tags": [{"tag": "kind", "value": "chat"}]}
        )
        event = UserEventData(id=uuid.uuid4(), event_data=data, created_at=_now(), updated_at=_now())
        self.events[user][str(event.id)] = event
        self._embedded(str(event.id), tip)
        for line in tip.splitlines():
            gist = UserEventGistData(
                id=uuid.uuid4(), gist_data=EventGistData(content=line), created_at=_now(), updated_at=_now()
            )
            self.gists[user].append(Gist(str(event.id), gist))
            self._embedded(str(gist.id), line)
        return str(event.id)

    def _embedded(self, name: str, text: str) -> None:
        if self.embeddings == "on":
            self.vectors[name] = _embed([text])[0]

    def listed(self, user: str) -> list[UserProfileData]:
        """The slots of a user, even of a missing one, from the cache that lasts 20 minutes."""
        if user not in self.cached:
            self.cached[user] = sorted(self.profiles[user].values(), key=lambda one: one.updated_at, reverse=True)
        return list(self.cached[user])

    def read_late(self, user: str) -> None:
        """Another worker has just read the slots, and caches them after the next change."""
        self._late_readers[user] = sorted(self.profiles[user].values(), key=lambda one: one.updated_at, reverse=True)

    def _changed(self, user: str) -> None:
        self.cached.pop(user, None)
        if user in self._late_readers:
            self.cached[user] = self._late_readers.pop(user)

    def add_profile(self, user: str, content: str, attributes: dict[str, Any]) -> str:
        self.written(user)
        stored(content)
        made = self._add_slot(user, content, attributes)
        self._changed(user)
        return made

    def put_profile(self, user: str, profile: str, content: str, attributes: dict[str, Any] | None) -> None:
        """Answers success even if there is no such slot, and drops the cached list in any case."""
        stored(content)
        if profile in self.profiles[user]:
            self._put_slot(user, profile, content, attributes)
        self._changed(user)

    def delete_profile(self, user: str, profile: str) -> None:
        if self.profiles[user].pop(profile, None) is None:
            raise Refusal(404, f"Profile {profile} not found for user {user}")
        self._changed(user)

    def _add_slot(self, user: str, content: str, attributes: dict[str, Any]) -> str:
        made = UserProfileData(
            id=uuid.uuid4(), content=content, attributes=attributes, created_at=_now(), updated_at=_now()
        )
        self.profiles[user][str(made.id)] = made
        return str(made.id)

    def _put_slot(self, user: str, profile: str, content: str, attributes: dict[str, Any] | None) -> None:
        change: dict[str, Any] = {"content": content, "updated_at": _now()}
        if attributes is not None:
            change["attributes"] = attributes
        self.profiles[user][profile] = self.profiles[user][profile].model_copy(update=change)

    def newest(self, user: str) -> list[UserEventData]:
        return sorted(self.events[user].values(), key=lambda one: one.created_at, reverse=True)

    def put_event(self, user: str, event: str, change: dict[str, Any]) -> None:
        """The gists and the vectors stay those of the former text."""
        held = self.events[user].get(event)
        if held is None or held.event_data is None:
            raise Refusal(404, f"User event {event} not found")
        given = {name: value for name, value in change.items() if value is not None}
        data = EventData.model_validate(held.event_data.model_dump() | given)
        self.events[user][event] = held.model_copy(update={"event_data": data, "updated_at": _now()})

    def delete_event(self, user: str, event: str) -> None:
        if self.events[user].pop(event, None) is None:
            raise Refusal(404, f"User event {event} not found")
        self.gists[user] = [one for one in self.gists[user] if one.event != event]

    def age(self, user: str, days: int) -> None:
        """Let time pass for all events of a user."""
        for name, one in self.events[user].items():
            self.events[user][name] = one.model_copy(update={"created_at": one.created_at - timedelta(days=days)})
        self.gists[user] = [
            one._replace(data=one.data.model_copy(update={"created_at": one.data.created_at - timedelta(days=days)}))
            for one in self.gists[user]
        ]

    def scores(self, query: str, names: Sequence[str]) -> dict[str, float]:
        """Likeness to a question, for what has a vector."""
        if self.embeddings == "off":
            raise Refusal(501, "Event embedding is not enabled")
        if self.embeddings == "down":
            raise Refusal(503, "Error in get_embedding: Connection error.")
        tokens(query)
        question = _embed([query])[0]
        return {name: float(self.vectors[name] @ question) for name in names if name in self.vectors}


def recent(created: datetime, days: int) -> bool:
    return created > _now() - timedelta(days=days)


def tokens(text: str) -> list[str]:
    """The server's tokenizer refuses the texts of its own special tokens."""
    for one in _SPECIAL:
        if one in text:
            raise Refusal(500, f"unknown error: ValueError: text corresponding to disallowed special token {one!r}")
    return text.split()


def stored(text: str) -> None:
    """PostgreSQL stores no NUL."""
    if "\0" in text:
        raise Refusal(500, "unknown error: ValueError: A string literal cannot contain NUL (0x00) characters.")


def _organized(before: Sequence[UserProfileData]) -> tuple[list[dict[str, Any]], list[str]]:
    """The slots that replace those of overfull topics, and the ids of the latter."""
    topics: dict[str, list[UserProfileData]] = defaultdict(list)
    for one in before:
        topics[one.attributes["topic"]].append(one)
    joined: list[dict[str, Any]] = []
    gone: list[str] = []
    for topic, slots in topics.items():
        if len(slots) <= MOST_SUBTOPICS:
            continue
        most = MOST_SUBTOPICS // 2 + 1
        unified = topic.lower().strip().replace(" ", "_")
        for number in range(most):
            content = "; ".join(one.content for one in slots[number::most])
            joined.append({"content": content, "attributes": {"topic": unified, "sub_topic": f"part_{number}"}})
        gone += [str(one.id) for one in slots]
    return joined, gone


def _without_duplicates(slots: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for one in slots:
        key = (one["attributes"]["topic"], one["attributes"]["sub_topic"])
        if key in first:
            first[key]["content"] += f"; {one['content']}"
        else:
            first[key] = one
    return list(first.values())


def _summary(content: str) -> str:
    words = tokens(content)
    return content if len(words) <= _LONG_SLOT else " ".join(words[: _LONG_SLOT // 2]) + "..."


def _slot(text: str) -> tuple[str, str, str]:
    said = re.match(r"(\w+)/(\w+): (.*)", text, re.DOTALL)
    return (said[1], said[2], said[3]) if said else ("notes", text.split(maxsplit=1)[0].lower(), text)


def _now() -> datetime:
    return datetime.now(UTC)
