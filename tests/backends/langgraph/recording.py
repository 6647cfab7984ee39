"""A chat model that keeps what it was sent, so that a test can look for what should not be there."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - pydantic reads the annotation
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage  # noqa: TC002 - pydantic reads the annotation
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class Recording(BaseChatModel):
    """Replies as a test says."""

    reply: Callable[[list[BaseMessage]], AIMessage]
    sent: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "recording"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.sent.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.reply(messages))])
