"""The OpenAI Responses API, as much of it as agents use. anthropic.py says what a protocol offers."""

import json
import time

from .openai import bad_key, error, read
from .wire import event, halves, new_id

__all__ = ["HALF_THE_TEXT", "accepts", "bad_key", "document", "error", "events", "read"]

HALF_THE_TEXT = 5


def accepts(path):
    return path.endswith("/responses")


def items(turn):
    out = []
    if turn["text"]:
        content = [{"type": "output_text", "text": turn["text"], "annotations": []}]
        out.append({"type": "message", "id": new_id("msg_"), "status": "completed", "role": "assistant", "content": content})
    for tool in turn["tools"]:
        call = {"id": new_id("fc_"), "call_id": new_id("call_"), "name": tool["name"], "status": "completed"}
        # A tool whose input is a text of any form is a custom one.
        if isinstance(tool["input"], str):
            out.append(call | {"type": "custom_tool_call", "input": tool["input"]})
        else:
            out.append(call | {"type": "function_call", "arguments": json.dumps(tool["input"])})
    return out


def usage(turn):
    numbers = turn["usage"]
    asked = numbers["input"] + numbers["cache_read"] + numbers["cache_write"]
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": numbers["cache_read"]},
        "output_tokens": numbers["output"],
        "output_tokens_details": {"reasoning_tokens": numbers["thought"]},
        "total_tokens": asked + numbers["output"],
    }


def opening(request):
    return {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "model": request["model"],
        "output": [],
        "usage": None,
        "error": None,
        "incomplete_details": None,
    }


def document(request, turn):
    return opening(request) | {"status": "completed", "output": items(turn), "usage": usage(turn)}


def events(request, turn):
    start = opening(request)
    steps = [("response.created", {"response": start}), ("response.in_progress", {"response": start})]
    output = items(turn)
    for index, item in enumerate(output):
        steps += of_item(index, item)
    end = start | {"status": "completed", "output": output, "usage": usage(turn)}
    steps.append(("response.completed", {"response": end}))
    return [
        event({"type": name, "sequence_number": number} | fields, name) for number, (name, fields) in enumerate(steps)
    ]


def of_item(index, item):
    place = {"item_id": item["id"], "output_index": index}
    begun = item | {"status": "in_progress"}
    if item["type"] == "message":
        part = item["content"][0]
        spot = place | {"content_index": 0}
        return [
            ("response.output_item.added", {"output_index": index, "item": begun | {"content": []}}),
            ("response.content_part.added", spot | {"part": part | {"text": ""}}),
            *(("response.output_text.delta", spot | {"delta": piece}) for piece in halves(part["text"])),
            ("response.output_text.done", spot | {"text": part["text"]}),
            ("response.content_part.done", spot | {"part": part}),
            ("response.output_item.done", {"output_index": index, "item": item}),
        ]
    if item["type"] == "custom_tool_call":
        deltas = [("response.custom_tool_call_input.done", place | {"input": item["input"]})]
        begun = begun | {"input": ""}
    else:
        deltas = [("response.function_call_arguments.done", place | {"arguments": item["arguments"]})]
        begun = begun | {"arguments": ""}
    return [
        ("response.output_item.added", {"output_index": index, "item": begun}),
        *deltas,
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]
