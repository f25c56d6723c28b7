"""What known agents print for a run. The shapes are those of fixtures/transcripts/."""

import datetime
import json
import os


def lines(stream, run):
    if stream == "text":
        return [run.say] if run.say else []
    return [json.dumps(event) for event in {"claude": claude, "codex": codex}[stream](run)]


def claude(run):
    yield {"type": "system", "subtype": "init", "model": "opus-x", "tools": ["Bash"]}
    for number, command in enumerate(run.commands):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": command.line}}
        yield {"type": "assistant", "parent_tool_use_id": None,
               "message": {"id": f"m{number}", "role": "assistant", "model": "opus-x", "content": [call]}}
        if command.ends:
            failed = command.code != 0
            words = f"Exit code {command.code}\n{command.output}" if failed else command.output
            result = {"type": "tool_result", "tool_use_id": f"c{number}", "is_error": failed, "content": words}
            yield {"type": "user", "message": {"role": "user", "content": [result]}}
    if run.hangs:
        return
    if run.is_limited:
        now = os.environ.get("RALPH_TEST_CLOCK", "").replace("Z", "+00:00")
        resets_at = int(datetime.datetime.fromisoformat(now).timestamp()) + 7200
        yield {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": resets_at}}
        yield {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429,
               "api_error": "usage_limit_reached", "result": "You've hit your 5-hour limit."}
        return
    message = {"id": "last", "role": "assistant", "model": "opus-x", "content": [{"type": "text", "text": run.say}]}
    yield {"type": "assistant", "parent_tool_use_id": None, "message": message}
    yield {"type": "result", "subtype": "success", "is_error": False, "result": run.say,
           "usage": {"input_tokens": 700, "output_tokens": 90}, "total_cost_usd": 0.25}


def codex(run):
    yield {"type": "thread.started", "thread_id": "t-1"}
    yield {"type": "turn.started"}
    for number, command in enumerate(run.commands):
        item = {"id": f"i{number}", "type": "command_execution", "command": f"/bin/bash -lc '{command.line}'"}
        yield {"type": "item.started",
               "item": {**item, "aggregated_output": "", "exit_code": None, "status": "in_progress"}}
        status = "failed" if command.code else "completed"
        yield {"type": "item.completed",
               "item": {**item, "aggregated_output": command.output, "exit_code": command.code, "status": status}}
    yield {"type": "item.completed", "item": {"id": "last", "type": "agent_message", "text": run.say}}
    yield {"type": "turn.completed", "usage": {"input_tokens": 700, "cached_input_tokens": 0, "output_tokens": 90}}
