"""The Anthropic Messages API, as much of it as agents use.

A protocol offers `accepts` (is this path mine?), `read` (what a request asks for), `document` (a whole answer), `events` (the
same answer as a stream, one item for each event on the wire) and `error`.
"""

import json
import uuid

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
            {"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:24], "name": tool["name"], "input": tool["input"]}
        )
    return {
        "id": "msg_" + uuid.uuid4().hex[:24],
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
    out = [event("message_start", message=opening), event("ping")]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, pieces = {"type": "text", "text": ""}, halves(block["text"])
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        else:
            empty, pieces = block | {"input": {}}, halves(json.dumps(block["input"]))
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        out.append(event("content_block_start", index=index, content_block=empty))
        out += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
        out.append(event("content_block_stop", index=index))
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    out.append(event("message_delta", delta=ending, usage={"output_tokens": whole["usage"]["output_tokens"]}))
    out.append(event("message_stop"))
    return out


def error(status, text):
    return {"type": "error", "error": {"type": ERRORS.get(status, "api_error"), "message": text}}


def event(name, **fields):
    return f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode()


def halves(text):
    middle = len(text) // 2
    return [text[:middle], text[middle:]]
