"""The Gemini API, as much of it as agents use. anthropic.py says what a protocol offers."""

import re

from .wire import event, halves, new_id

HALF_THE_TEXT = 1
STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


def accepts(path):
    return re.search(r"/models/[^/]+:(generateContent|streamGenerateContent|countTokens)$", path) is not None


def read(path, body):
    model, what = path.rsplit("/", 1)[1].split(":")
    return {
        "body": body,
        "model": model,
        "stream": what == "streamGenerateContent",
        "has_tools": bool(body.get("tools")),
        "canned": {"totalTokens": 1000} if what == "countTokens" else None,
    }


def usage(turn):
    numbers = turn["usage"]
    asked = numbers["input"] + numbers["cache_read"] + numbers["cache_write"]
    return {
        "promptTokenCount": asked,
        "cachedContentTokenCount": numbers["cache_read"],
        # Here the thoughts are beside the answer, not in it.
        "candidatesTokenCount": numbers["output"] - numbers["thought"],
        "thoughtsTokenCount": numbers["thought"],
        "totalTokenCount": asked + numbers["output"],
    }


def chunk(request, parts, **fields):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if "usageMetadata" in fields:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "modelVersion": request["model"], "responseId": "scripted"} | fields


def calls(turn):
    return [{"functionCall": {"id": new_id("call-"), "name": tool["name"], "args": tool["input"]}} for tool in turn["tools"]]


def document(request, turn):
    text = [{"text": turn["text"]}] if turn["text"] else []
    return chunk(request, text + calls(turn), usageMetadata=usage(turn))


def events(request, turn):
    pieces = [{"text": piece} for piece in halves(turn["text"])] if turn["text"] else []
    out = [event(chunk(request, [piece])) for piece in pieces]
    last = calls(turn) or [{"text": ""}]
    out.append(event(chunk(request, last, usageMetadata=usage(turn))))
    return out


def error(status, text, details=()):
    return {"error": {"code": status, "message": text, "status": STATUSES.get(status, "UNKNOWN"), "details": list(details)}}


def bad_key():
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
    return {"status": 400, "body": error(400, "API key not valid. Please pass a valid API key.", [reason])}


def day_limit():
    """The limit of a day. Its end is not told."""
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        "quotaValue": "50",
    }
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
    words = "You exceeded your current quota, please check your plan and billing details."
    return {"status": 429, "body": error(429, words, [failure])}
