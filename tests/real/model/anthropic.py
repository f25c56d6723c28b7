"""The Anthropic Messages API, as much of it as agents use.

A protocol offers `accepts` (is this path mine?), `read` (what a request asks for), `document` (a whole answer), `events` (the
same answer as a stream, one item for each event on the wire), `HALF_THE_TEXT` (so many of them, where the answer begins with a
text), `error`, and the fault `bad_key`. Some have faults of limits of their own.
"""

import json

from .wire import event, halves, new_id

HALF_THE_TEXT = 4

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def accepts(path):
    return path.endswith(("/v1/messages", "/v1/messages/count_tokens"))


def read(path, body):
    return {
        "body": body,
        "model": body.get("model"),
        "stream": bool(body.get("stream")),
        "has_tools": bool(body.get("tools")),
        "canned": {"input_tokens": 1000} if path.endswith("/count_tokens") else None,
    }


def message(request, turn):
    usage = turn["usage"]
    content = [{"type": "text", "text": turn["text"]}] if turn["text"] else []
    for tool in turn["tools"]:
        content.append(
            {"type": "tool_use", "id": new_id("toolu_"), "name": tool["name"], "input": tool["input"]}
        )
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if turn["tools"] else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["input"],
            "cache_creation_input_tokens": usage["cache_write"],
            "cache_read_input_tokens": usage["cache_read"],
            "output_tokens": usage["output"],
        },
    }


def document(request, turn):
    return message(request, turn)


def events(request, turn):
    whole = message(request, turn)
    # The real API says 1 token of output at the start, and the sum at the end.
    opening = whole | {"content": [], "stop_reason": None, "usage": whole["usage"] | {"output_tokens": 1}}
    out = [typed("message_start", message=opening), typed("ping")]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, pieces = {"type": "text", "text": ""}, halves(block["text"])
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        else:
            empty, pieces = block | {"input": {}}, halves(json.dumps(block["input"]))
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        out.append(typed("content_block_start", index=index, content_block=empty))
        out += [typed("content_block_delta", index=index, delta=delta) for delta in deltas]
        out.append(typed("content_block_stop", index=index))
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    out.append(typed("message_delta", delta=ending, usage={"output_tokens": whole["usage"]["output_tokens"]}))
    out.append(typed("message_stop"))
    return out


def typed(name, **fields):
    return event({"type": name} | fields, name)


def error(status, text):
    return {"type": "error", "error": {"type": ERRORS.get(status, "api_error"), "message": text}}


def bad_key():
    return {"status": 401, "body": error(401, "invalid x-api-key")}


def plan_limit(resets_at):
    """The limit of a subscription: headers say it, and until when."""
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": resets_at,
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled",
        "x-should-retry": "false",
    }
    return {"status": 429, "headers": headers, "body": error(429, "This request would exceed your account's rate limit.")}
