"""A scripted agent that stands in for Claude Code: it writes what languages.py has for the task of the prompt, and speaks its stream.

The first attempt at T003 is broken and says that all is done; T004 is asked about until a hint says `commas`.
"""

import json
import os
import pathlib
import sys

from languages import LANGUAGES


def say(**event):
    print(json.dumps(event), flush=True)


def write(path, text):
    file = pathlib.Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    use = {"type": "tool_use", "id": path, "name": "Write", "input": {"file_path": str(file.absolute()), "content": text}}
    say(type="assistant", message={"id": f"m-{path}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [use]})
    say(type="user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": path, "content": "The file was written."}]})


def answer(language, task, attempt, prompt):
    """What the agent says last; it works before."""
    if task == "T004" and "commas" not in prompt:
        return "Question: what stands between two names?"
    is_broken = task == "T003" and attempt == 1
    for path, text in (language.broken if is_broken else language.done[task]).items():
        write(path, text)
    tasks = pathlib.Path(os.environ["RALPH_TASKS"])
    tasks.write_text(tasks.read_text().replace(f"- [ ] {task} ", f"- [x] {task} "))
    return "All tests pass!\n\n<promise>COMPLETE</promise>" if is_broken else f"{task} is done, with a test."


def main():
    if "--version" in sys.argv:
        print("2.1.197 (Claude Code)")
        return
    prompt = sys.stdin.read()
    say(type="system", subtype="init", session_id="s", model="claude-sonnet-4-5", permissionMode="bypassPermissions", tools=["Write"])
    last = answer(LANGUAGES[sys.argv[1]], os.environ["RALPH_TASK"], int(os.environ["RALPH_ATTEMPT"]), prompt)
    usage = {"input_tokens": 1000, "output_tokens": 200}
    say(type="assistant", message={"id": "last", "role": "assistant", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": last}]})
    say(type="result", subtype="success", is_error=False, result=last, num_turns=2, usage=usage, total_cost_usd=0.05)


main()
