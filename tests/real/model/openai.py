"""Errors as both of OpenAI's APIs tell them."""

import time


def error(status, text, code=None):
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}


def bad_key():
    return {"status": 401, "body": error(401, "Incorrect API key provided: none-is-ne*ded.", "invalid_api_key")}


def plan_limit(resets_at):
    """The limit of a subscription."""
    headers = {
        "x-codex-primary-used-percent": "100",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": resets_at,
    }
    detail = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus"}
    return {"status": 429, "headers": headers, "body": {"error": detail | {"resets_at": resets_at}}}


def no_credit(headers=None):
    """The limit of a key, whose answer says nothing of its end."""
    words = "You exceeded your current quota, please check your plan and billing details."
    detail = {"message": words, "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}
    return {"status": 429, "headers": headers, "body": {"error": detail}}


def named_limit(resets_at):
    """A limit whose answer says in words when it ends."""
    moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(resets_at))
    words = f"Hour allocated quota exceeded. It will reset at {moment}."
    return {"status": 429, "body": {"error": {"message": words, "type": "insufficient_quota", "code": "insufficient_quota"}}}


def read(_, body):
    return {
        "body": body,
        "model": body.get("model"),
        "stream": bool(body.get("stream")),
        "has_tools": bool(body.get("tools")),
        "canned": None,
    }
