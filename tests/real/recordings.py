#!/usr/bin/env python3
"""Plays recorded streams of agents to the loop, and looks at what it understood.

usage: tests/real/recordings.py FOLDER [--list]

FOLDER holds a folder for each agent, and in it for each recorded run NAME.stdout, NAME.stderr and NAME.exit. Each is given to the loop as the output of an agent with that parser. The loop must record an
iteration whatever comes. What a run that went well says of itself at its end (tokens, final text) is read here a second time, by
other code, and must be what the record says. Runs that failed must have got a class that their name allows (CLASSES).

  SPECIFY_RALPH_BIN   our `specify` (default: target/release/specify)
"""

import collections
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = pathlib.Path(os.environ.get("SPECIFY_RALPH_BIN", ROOT / "target/release/specify")).resolve()
PARSERS = {"kilo": "opencode"}
AGENTS = ["claude", "codex", "copilot", "gemini", "opencode", "kilo", "qwen", "pi", "droid", "cline", "aider"]

# What the name of a run begins with, and the classes that its failure may have: quota and rate limit are the same answer for many.
CLASSES = [
    ("e401", {"auth"}),
    ("nologin", {"auth"}),
    ("credit", {"billing"}),
    ("e404", {"model"}),
    ("e400_ctx", {"context"}),
    ("e429", {"rate_limit", "quota"}),
    ("sse_rl", {"rate_limit", "quota"}),
    ("sse_quota", {"quota"}),
    ("sse_error", {"rate_limit", "overloaded", "network"}),
    ("sub_rej", {"quota"}),
    ("e50", {"overloaded"}),
    ("e529", {"overloaded"}),
    ("cut", {"network"}),
    ("reset", {"network"}),
]

# Runs in which the program said something else than their name does.
OTHERWISE = {
    "codex/credit": "context",
    "copilot/credit": "context",
    "gemini/e400_ctx": "auth",
    "codex/nologin": "network",
    "cline/nologin": "other",
}

# It hung without a word about why, until it was killed.
KILLED = {124, 137}


def play(stream):
    """The record of an iteration whose agent printed this."""
    agent = stream.parent.name
    name = stream.name.removesuffix(".stdout")
    code = int((stream.parent / f"{name}.exit").read_text().split()[-1])
    code = 128 - code if code < 0 else code
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        project = home / "project"
        (project / ".specify").mkdir(parents=True)
        (project / "specs/001-one").mkdir(parents=True)
        (project / "specs/001-one/tasks.md").write_text("- [ ] T001 One\n")
        said = [f"cat {shlex.quote(str(stream))}", f"cat {shlex.quote(str(stream.parent / name))}.stderr >&2", f"exit {code}"]
        (project / ".specify/ralph.toml").write_text(
            f'agent = "played"\n[agents.played]\ncommand = {json.dumps("; ".join(said))}\nparser = "{PARSERS.get(agent, agent)}"\n'
        )
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "SPECKIT_RALPH_TRUST": "always"}
        # On a clock that steps, no pause before another look at an agent is waited for.
        environment["RALPH_TEST_CLOCK"] = "2026-11-22T12:00:00Z"

        def call(*words):
            return subprocess.run(words, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)

        call("git", "init", "-q")
        run = call(str(OURS), "ralph", "-n", "1", "--max-wait", "0")
        if b"panicked" in run.stderr or run.returncode not in (0, 4, 5, 6):
            raise AssertionError(f"exit code {run.returncode}: {run.stderr.decode(errors='replace')}")
        shown = call(str(OURS), "ralph", "show", "@", "--json")
        if shown.returncode != 0:
            raise AssertionError(f"nothing was recorded: {shown.stderr.decode(errors='replace')}")
        record = json.loads(shown.stdout)
    return record


def events(stream):
    """The lines of a stream that are JSON."""
    for line in stream.read_text(errors="replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        yield from event if isinstance(event, list) else [event]


def last(stream, kind):
    return [event for event in events(stream) if event.get("type") == kind][-1]


def total(parts, names, *, inclusive=False):
    """(input without cache, cache read, cache write, output), summed; None where nothing tells."""
    sums = []
    for name in names:
        found = [part[name] for part in parts if name in part]
        sums.append(sum(found) if found else None)
    if inclusive:
        sums[0] -= (sums[1] or 0) + (sums[2] or 0)
    return tuple(sums)


def told_by(stream):
    """What a stream that ended well says of its tokens, read without our parsers."""
    agent = stream.parent.name
    snake = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"]
    camel = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"]
    if agent == "claude":
        models = last(stream, "result")["modelUsage"].values()
        names = ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"]
        return total(models, names)
    if agent == "qwen":
        return total([last(stream, "result")["usage"]], snake, inclusive=True)
    if agent == "droid":
        return total([last(stream, "completion")["usage"]], snake)
    if agent == "codex":
        names = ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"]
        return total([last(stream, "turn.completed")["usage"]], names, inclusive=True)
    if agent == "gemini":
        stats = last(stream, "result")["stats"]
        # What it thought is in the total alone.
        stats["written"] = stats["total_tokens"] - stats["input_tokens"]
        return total([stats], ["input", "cached", "-", "written"])
    if agent == "cline":
        return total([last(stream, "run_result")["aggregateUsage"]], camel, inclusive=True)
    if agent in ("opencode", "kilo"):
        steps = [event["part"]["tokens"] for event in events(stream) if event.get("type") == "step_finish"]
        flat = [{**step, **step["cache"], "output": step["output"] + step["reasoning"]} for step in steps]
        return total(flat, ["input", "read", "write", "output"])
    if agent == "pi":
        answers = [m["usage"] for m in last(stream, "agent_end")["messages"] if m["role"] == "assistant"]
        return total(answers, ["input", "cacheRead", "cacheWrite", "output"])
    if agent == "aider":
        sent, received = re.findall(r"Tokens: ([\d.]+k?) sent, ([\d.]+k?) received", stream.read_text())[-1]
        number = lambda word: round(float(word.rstrip("k")) * (1000 if word.endswith("k") else 1))
        return number(sent), None, None, number(received)
    if agent == "copilot":
        return None, None, None, None  # It has them in a file of its own, which is no part of a stream.
    raise AssertionError(f"no way to read the tokens of {agent}")


def wrong_with(stream, record):
    """What of a record is not what the stream says."""
    agent, name = stream.parent.name, stream.name.removesuffix(".stdout")
    code, found = record["exit"]["agent"], record["failure_class"]
    ours = tuple(record["tokens"][kind] for kind in ("input", "cache_read", "cache_write", "output"))
    try:
        theirs = told_by(stream)
    except IndexError:
        theirs = None  # It was stopped before it told.
    # Where nothing was spent some say nothing, and others zero.
    if theirs and any(theirs) and ours != theirs:
        yield f"tokens {ours}, and the stream says {theirs}"
    if name.startswith("happy"):
        if code != 0 or found:
            yield f"exit {code}, class {found}, of a run that went well"
        if not record["claims"]["promise"]:
            yield "the final text was not found"
        if re.search(r'"model": ?"\w', stream.read_text(errors="replace")) and not record["model"]:
            yield "the model is told, and was not found"
        # aider tells of no tools, and codex does nearly all of it by commands.
        if agent == "codex":
            commands = [event["item"]["id"] for event in events(stream) if event.get("item", {}).get("type") == "command_execution"]
            found = [call for call in record["tool_calls"] if call["kind"] == "shell"]
            if len(found) != len(set(commands)):
                yield f"{len(found)} commands of {len(set(commands))}"
        elif agent != "aider":
            yield from wrong_with_tools(record["tool_calls"])
        return
    allowed = next((classes for start, classes in CLASSES if name.startswith(start)), None)
    if f"{agent}/{name}" in OTHERWISE:
        allowed = {OTHERWISE[f"{agent}/{name}"]}
    is_mute = code in KILLED and found == "other"
    if allowed and found and found not in allowed and not is_mute:
        yield f"class {found}, where {' or '.join(sorted(allowed))} was expected"
    if allowed and not found and not record["claims"]["promise"] and code != 0:
        yield "a failure without a class"


def wrong_with_tools(calls):
    """The recorded runs that went well read and edited the task list, wrote a file, and ran two commands, of which one failed."""
    edited = " ".join(call["arguments_summary"] for call in calls if call["kind"] in ("edit", "write"))
    yield from (f"{file} was edited, and that is not told" for file in ("tasks.md", "hello.txt") if file not in edited)
    if not any(call["kind"] == "read" and "tasks.md" in call["arguments_summary"] for call in calls):
        yield "the task list was read, and that is not told"
    shells = [call for call in calls if call["kind"] == "shell"]
    if len(shells) != 2:
        yield f"{len(shells)} commands, where two were run"


def main():
    words = [word for word in sys.argv[1:] if word != "--list"]
    if len(words) != 1:
        sys.exit(__doc__)
    streams = [stream for agent in AGENTS for stream in sorted(pathlib.Path(words[0], agent).resolve().glob("*.stdout"))]
    if not streams:
        sys.exit(f"recordings.py: no recorded streams in {words[0]}")
    failed, classes = 0, collections.Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for stream, record in zip(streams, pool.map(play, streams)):
            name = f"{stream.parent.name}/{stream.name.removesuffix('.stdout')}"
            classes[record["failure_class"]] += 1
            if "--list" in sys.argv:
                print(name, record["exit"]["agent"], record["failure_class"], *record["tokens"].values())
            for wrong in wrong_with(stream, record):
                print(f"{name}: {wrong}")
                failed += 1
    counts = ", ".join(f"{count} {kind or 'without a failure'}" for kind, count in classes.most_common())
    print(f"{len(streams)} recorded streams: {counts}")
    if failed:
        sys.exit(f"recordings.py: FAILED: {failed} wrong")


if __name__ == "__main__":
    main()
