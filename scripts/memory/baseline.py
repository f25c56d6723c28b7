"""The memories that ours is measured against: none, and the blind tail.

Both have the loop send a prompt from a template of the bench's own, which knows of no memory and ends in a line that nothing after it
can be missed behind. What the loop appends to such a template is cut off, and the blind tail is put in its place.

The blind tail is what simple loops do: the last five iterations, each with the last 500 characters of what the validation wrote to
stdout, or to stderr where stdout is empty. Without a validation it is the end of what the agent wrote.
"""

import json
import subprocess

END = "=== end of the prompt ==="
ENTRIES = 5
CHARS = 500

TEMPLATE = f"""\
# {{{{ feature_name }}}}: {{{{ current_task }}}}

You are a coding agent that works in a loop. Do this one task, completely, and no other:

**{{{{ current_task }}}}**

- Tasks: `{{{{ tasks_path }}}}`
{{%- if validation_command %}}
- The validation must pass: `{{{{ validation_command }}}}`
{{%- endif %}}

Tick the box of this task when it is done. If you cannot finish, leave the box open and say what is in the way.
{{%- if hints %}}

## Hints from the user

{{{{ hints }}}}
{{%- endif %}}

{END}
"""


def prompt(sent, mode):
    """The prompt that the agent reads in this mode, from the one that the loop sent."""
    if mode == "ours":
        return sent
    kept = sent.split(END)[0]
    return kept + tail() if mode == "tail" else kept


def tail():
    iterations = []
    for ref in git("for-each-ref", "--format=%(refname)", "refs/ralph/").split():
        iterations += git("log", "--reverse", "--grep=^Ralph-Record: iteration", "--format=%H", ref).split()
    entries = [entry(commit) for commit in iterations[-ENTRIES:]]
    return "## Previous iterations\n\n" + "".join(entries) if entries else ""


def entry(commit):
    record = json.loads(git("show", f"{commit}:iteration.json"))
    command, code = record["validation_command"], record["exit"]["validation"]
    streams = "validation"
    if code is None:
        streams, code = "agent", record["exit"]["agent"]
    output = read(commit, f"{streams}/stdout") or read(commit, f"{streams}/stderr")
    shown = output if len(output) <= CHARS else f"...[truncated]...\n{output[-CHARS:]}"
    files = ", ".join(record["files_changed"]) or "none"
    return (
        f"## Iteration {record['iteration']}\n**Command:** `{command}`\n**Exit code:** {code}\n"
        f"**Files changed:** {files}\n**Output:**\n```\n{shown.strip()}\n```\n\n"
    )


def read(commit, path):
    shown = subprocess.run(["git", "show", f"{commit}:{path}"], capture_output=True)
    return shown.stdout.decode(errors="replace") if shown.returncode == 0 else ""


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, check=True).stdout.decode(errors="replace")
