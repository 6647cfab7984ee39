"""A chat model that keeps what it was sent, so that a test can look for what should not be there."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class Recording(BaseChatModel):
    """Answers each question of a user with tool calls, and what the tools say with a closing word."""

    calls: list[tuple[str, dict[str, Any]]] = Field(default_factory=list)
    sent: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "recording"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.sent.append(list(messages))
        calls: list[Any] = [
            {"name": name, "args": args, "id": f"{len(self.sent)}-{number}"}
            for number, (name, args) in enumerate(self.calls)
        ]
        answer = AIMessage("Done.") if messages[-1].type == "tool" else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])
