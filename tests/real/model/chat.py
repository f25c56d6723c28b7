"""The OpenAI Chat Completions API, as much of it as agents use. anthropic.py says what a protocol offers."""

import json
import time

from .openai import bad_key, error, read
from .wire import event, halves, new_id

__all__ = ["HALF_THE_TEXT", "accepts", "bad_key", "document", "error", "events", "read"]

HALF_THE_TEXT = 2


def accepts(path):
    return path.endswith("/chat/completions")


def calls(turn):
    return [
        {"id": new_id("call_"), "type": "function", "function": {"name": tool["name"], "arguments": json.dumps(tool["input"])}}
        for tool in turn["tools"]
    ]


def usage(turn):
    numbers = turn["usage"]
    asked = numbers["input"] + numbers["cache_read"] + numbers["cache_write"]
    return {
        "prompt_tokens": asked,
        "prompt_tokens_details": {"cached_tokens": numbers["cache_read"]},
        "completion_tokens": numbers["output"],
        "completion_tokens_details": {"reasoning_tokens": numbers["thought"]},
        "total_tokens": asked + numbers["output"],
    }


def reason(turn):
    return "tool_calls" if turn["tools"] else "stop"


def head(request, kind):
    return {"id": new_id("chatcmpl-"), "object": kind, "created": int(time.time()), "model": request["model"]}


def document(request, turn):
    message = {"role": "assistant", "content": turn["text"] or None}
    if turn["tools"]:
        message["tool_calls"] = calls(turn)
    choice = {"index": 0, "message": message, "finish_reason": reason(turn)}
    return head(request, "chat.completion") | {"choices": [choice], "usage": usage(turn)}


def events(request, turn):
    common = head(request, "chat.completion.chunk")

    def chunk(delta, finish_reason=None):
        return event(common | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    out = [chunk({"role": "assistant", "content": ""})]
    if turn["text"]:
        out += [chunk({"content": piece}) for piece in halves(turn["text"])]
    for index, call in enumerate(calls(turn)):
        begun = call | {"index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        out.append(chunk({"tool_calls": [begun]}))
        for piece in halves(call["function"]["arguments"]):
            out.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    out.append(chunk({}, reason(turn)))
    out.append(event(common | {"choices": [], "usage": usage(turn)}))
    out.append(b"data: [DONE]\n\n")
    return out
