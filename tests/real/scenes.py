"""What is played with each agent: what the model says, what is done to the loop, and what must come of it."""

import json
import os
import select
import signal
import time

import processes
from agents import LOGIN_KEY
from model.scenario import NO_USAGE, strings
from place import FEATURE, TASKS, check, equal

FIELDS = ["input", "cache_read", "cache_write", "output"]
BRANCH = "ralph/001-words"
FINAL_ONE = "T001 is done, Grüß Gott.\n\nLearnings:\n- A file holds its own name.\n"
FINAL_TWO = "T002 is done.\n\n<promise>COMPLETE</promise>"


def step(text="", calls=(), expect=(), usage=(100, 2000, 40)):
    """A turn of the model with calls of tools as (what, words...)."""
    asked, cached, output = usage
    numbers = {"input": asked, "cache_read": cached, "output": output, "thought": output // 5}
    return {"text": text, "calls": list(calls), "expect": list(expect), "usage": numbers}


def turns(agent, steps):
    return [one | {"tools": [agent.call(*call) for call in one["calls"]]} for one in steps]


def work_on(place, number, final):
    """The steps of a run that does the task of this number."""
    word = {1: "one", 2: "two"}[number]
    task, file = f"T00{number}", str(place.work / f"{word}.txt")
    box = TASKS.splitlines()[number + 1]
    return [
        step("I read the tasks first.", [("read", str(place.tasks))], [task], (1101, 0, 41)),
        step("", [("write", file, f"{word}\n")], usage=(211, 1101, 53)),
        step("I tick the box.", [("edit", str(place.tasks), box, box.replace("[ ]", "[x]"))], usage=(113, 1312, 37)),
        step(final, usage=(127, 1425, 29)),
    ]


def finish_and_check(place, runs):
    """The session ends with these runs, and the record says so. Gives the records before them, and theirs."""
    equal(place.loop.finish(), 0, "exit code of the loop")
    session = place.session()
    equal((session["status"], session["stop_reason"]), ("completed", "completed"), "end of the session")
    records = place.iterations()
    check(place.model.scenario.is_over(), f"the model could not say all: {place.model.scenario.played} turns were played")
    before, done = records[: -len(runs)], records[-len(runs) :]
    for steps, record in zip(runs, done, strict=True):
        check_record(place.agent, steps, record)
    check_prompts(place, records)
    check_nothing_left(place, session)
    return session, before, done


def check_record(agent, steps, record):
    where = f"iteration {record['iteration']}: "
    usage = [NO_USAGE | one["usage"] for one in steps]
    tokens = {field: sum(numbers[field] for numbers in usage) for field in FIELDS}
    tokens |= dict.fromkeys(agent.untold)
    equal(record["tokens"], tokens, where + "tokens")
    calls = [call for one in steps for call in one["calls"]]
    made = [(call["tool_name"], call["kind"], call["is_error"]) for call in record["tool_calls"]]
    wanted = [
        (agent.tool_name(what), agent.tool_kinds.get(what, what), "exit 3" in words[0] and agent.tells_exit_codes)
        for what, *words in calls
    ]
    equal(made, wanted, where + "tool calls, their kinds, and whether they failed")
    for (_, argument, *_), call in zip(calls, record["tool_calls"]):
        check(argument in call["arguments_summary"], f"{where}{argument} is not in {call['arguments_summary']}")
    files = [os.path.basename(call[1]) for call in calls if call[0] in ("write", "edit")]
    equal(sorted(map(os.path.basename, record["files_changed"])), sorted(files), where + "files")
    equal(record["model"], agent.model, where + "model")
    equal((record["agent"], record["agent_version"]), (agent.name, agent.version), where + "agent")
    equal(record["cost_usd"] is not None, agent.tells_cost, where + "whether a cost is told")
    final = steps[-1]["text"]
    equal(record["claims"]["promise"], "<promise>" in final, where + "promise")
    equal(record["learnings"], [line[2:] for line in final.splitlines() if line.startswith("- ")], where + "learnings")
    equal((record["outcome"], record["failure_class"], record["exit"]["agent"]), ("success", None, 0), where + "outcome")
    equal(record["closed"], [record["task"]], where + "closed tasks")
    equal(record["false_claim"], [], where + "false claims")


def check_prompts(place, records):
    """The model got every prompt whole."""
    sent = ["\n".join(strings(body)) for meta, body in place.requests() if meta["turn"] is not None]
    for record in records:
        prompt = place.ask("show", str(record["iteration"]), "--prompt").decode().strip()
        check(any(prompt in words for words in sent), f"the prompt of iteration {record['iteration']} did not come whole")
    asked = {meta["model"] for meta, _ in place.requests() if meta["turn"] is not None}
    equal(asked, {place.agent.model_on_wire or place.agent.model}, "model that was asked")
    problems = [meta["problem"] for meta, _ in place.requests() if meta["problem"]]
    equal(problems, [], "requests that the model did not expect")


def check_nothing_left(place, session):
    equal(processes.left("RALPH_SESSION", session["id"], 2), [], "processes with the marker of the session")
    equal(processes.left("HOME", str(place.home), 2), [], "processes of the run")
    equal(place.git("rev-parse", "HEAD"), place.head, "the user's HEAD")
    equal(place.git("diff", "--cached", "--name-only"), "", "the user's index")
    # A lane leaves progress.txt of the user alone.
    place.ask(*(["fsck"] if place.lane else ["rebuild", "--check"]))
    if place.is_fenced:
        check_home(place)
    if place.lane:
        check_branch(place)


def check_home(place):
    """The user has the login and the settings as before, and the model was asked with that login."""
    equal(place.files_at_home(), place.before, "files in the user's home")
    keys = {meta["key"] for meta, _ in place.requests() if meta["turn"] is not None}
    check(not place.has_login or keys == {LOGIN_KEY}, f"the model was asked with the keys {keys}")


def check_branch(place):
    """The user's work tree is as it was, and the branch of the lane has one commit for each task that was done."""
    equal(place.git("status", "--porcelain", "--untracked-files=all"), "", "the user's work tree")
    equal(place.git("symbolic-ref", "HEAD"), "refs/heads/main\n", "the user's branch")
    equal(place.git("stash", "list"), "", "the user's stash")
    branches = place.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes").splitlines()
    equal(branches, ["refs/heads/main", f"refs/heads/{BRANCH}"], "branches and tags")
    done = [record for record in place.iterations() if record["outcome"] == "success"]
    commits = place.git("rev-list", "--reverse", "--parents", f"main..{BRANCH}").splitlines()
    equal([record["published"] for record in done], [line.split()[0] for line in commits], "commits of the branch")
    parents = [place.head.strip(), *(line.split()[0] for line in commits)]
    equal([line.split()[1:] for line in commits], [[parent] for parent in parents[:-1]], "parents of the commits")
    titles = place.git("log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()
    tasks = [line.removeprefix("- [ ] ") for line in TASKS.splitlines() if line.startswith("- ")]
    wanted = [next(task for task in tasks if task.startswith(record["task"])) for record in done]
    equal(titles, wanted, "subjects of the commits")
    for record, line in zip(done, commits, strict=True):
        changed = place.git("diff-tree", "-r", "--name-only", *reversed(line.split())).splitlines()
        word = {"T001": "one", "T002": "two"}[record["task"]]
        equal(sorted(changed), sorted([f"{word}.txt", f"{FEATURE}/tasks.md"]), f"files of the commit for {record['task']}")


def final_text(place, iteration):
    """What the agent said after its last tool, as the loop told it."""
    said = ""
    for event in place.loop.of_type("agent_event"):
        if event["iteration"] == iteration and event["event"] == "text":
            said += event["text"]
        elif event["iteration"] == iteration and event["event"] == "tool_ended":
            said = ""
    return said


def happy(place):
    """Two tasks, two runs; a command fails on the way, and leaves a child. All that the model said stands in the record."""
    one, two = work_on(place, 1, FINAL_ONE), work_on(place, 2, FINAL_TWO)
    left = "nohup sleep 299 >/dev/null 2>&1 & cat one.txt; echo to-stderr >&2; exit 3"
    look = step("Looking.", [("shell", left)], usage=(131, 1312, 47))
    one[2:2] = [look]
    one[3]["expect"] = ["one\n", "to-stderr"] if place.agent.tells_exit_codes else ["to-stderr"]
    wip = ["First half", "Second half"] if place.lane else []
    for index, subject in zip([3, 5], wip):
        git = f"git add --all && git commit --quiet --message '{subject}'"
        one.insert(index, step("I commit.", [("shell", git)], usage=(117, 1312, 31)))
    place.model.scenario.play(turns(place.agent, one + two))
    place.start()
    session, before, records = finish_and_check(place, [one, two])
    equal(before, [], "other iterations")
    equal([record.get("agent_commits", []) for record in records], [wip, []], "commits of the agent that were squashed")
    for record, final in zip(records, [FINAL_ONE, FINAL_TWO]):
        equal(final_text(place, record["iteration"]).strip(), final.strip(), "final text")
    total = {field: sum(record["tokens"][field] or 0 for record in records) for field in FIELDS}
    equal(session["tokens"], total | dict.fromkeys(place.agent.untold), "tokens of the session")


def quota(place):
    """The account's limit is reached. The loop waits, and then goes on as if nothing had been."""
    agent, reset = place.agent, int(time.time()) + place.agent.limit_seconds
    # A login in a file is one of such an account.
    place.environment |= {} if place.has_login else agent.limited
    place.model.scenario.play([{"fault": agent.quota(reset), "forever": True}])
    # Where no time is told, the loop waits as long as it may.
    patience = f"{agent.limit_seconds + 8}s" if agent.tells_reset else "4s"
    place.start("--task", "T001", "--max-iterations", "1", "--set", f"max-wait={patience}")
    waiting = place.loop.wait_for("waiting", "session_ended")
    equal((waiting["type"], waiting.get("failure_class")), ("waiting", "quota"), "what the loop does at a limit")
    one = work_on(place, 1, FINAL_ONE)
    place.model.scenario.play(turns(agent, one))
    session, (limited,), _ = finish_and_check(place, [one])
    equal((limited["outcome"], limited["failure_class"]), ("interrupted", "quota"), "the run that came to the limit")
    equal(limited["resets_at"] is not None, agent.tells_reset, "whether the end of the limit is known")
    equal(session["iterations_run"], 1, "iterations that count")


def bad_key(place):
    """A key that is not accepted: the loop stops after a second look, and says what to do."""
    fault = {"fault": place.agent.protocol.bad_key(), "forever": True}
    place.model.scenario.play([fault], side=fault)
    place.start()
    equal(place.loop.finish(), 6, "exit code of the loop")
    session = place.session()
    equal((session["status"], session["stop_reason"]), ("failed", "agent_unusable"), "end of the session")
    (ended,) = place.loop.of_type("session_ended")
    check(ended.get("hint"), "the loop gives no hint")
    equal([record["failure_class"] for record in place.iterations()], ["auth", "auth"], "class of the failures")
    equal(place.tasks.read_text(), TASKS, "the task list")
    check_nothing_left(place, session)


def cut(place):
    """Every answer breaks off, with a promise in it. That is no success, and the loop goes on when answers are whole again."""
    go_on_after_halves(place, "cut")


def early_end(place):
    """Every answer ends too early, as if it were whole. Who asks again for ever is stopped, and then it is as with a cut."""
    broken = go_on_after_halves(place, "end")
    stopped_by = "error_loop" if place.agent.never_gives_up else None
    equal(broken["exit_reason"], stopped_by, "who ended the run")


def go_on_after_halves(place, fault):
    """Plays half answers with a promise in them, and whole ones once the loop waits. Gives the record of the first run."""
    text = "T001 is done.\n\n<promise>COMPLETE</promise>\n\n" + "And here is what I did: nothing. " * 4
    place.model.scenario.play([{"fault": {fault: "half"}, "text": text, "forever": True}])
    # Without a time for its end, the loop waits as long as it may.
    place.start("--task", "T001", "--set", "max-wait=4s")
    equal(place.loop.wait_for("waiting", "session_ended")["type"], "waiting", "what the loop does after half an answer")
    one = work_on(place, 1, FINAL_ONE)
    place.model.scenario.play(turns(place.agent, one))
    _, (broken,), _ = finish_and_check(place, [one])
    # The proxy of srt answers for a model that breaks off: 502.
    classes = ["network", "overloaded"] if os.environ.get("SPECKIT_RALPH_SANDBOX") == "srt" else ["network"]
    equal(broken["outcome"], "interrupted", "a run without a whole answer")
    check(broken["failure_class"] in classes, f"a run without a whole answer is of class {broken['failure_class']}")
    check(not broken["claims"]["promise"], "a promise was taken from half an answer")
    return broken


def hang(place):
    """The model falls silent in the middle of an answer. The watchdog ends the run, and the next one does the task."""
    text = "I begin, and then I say nothing any more. " * 4
    place.model.scenario.play([{"fault": {"hang": "half"}, "text": text, "forever": True}])
    place.start("--task", "T001", "--skip-after", "0", "--idle-timeout", f"{place.agent.silence}s")
    number = 1
    place.loop.wait_for("iteration_recorded")
    # On a busy machine it is stopped before it could ask.
    while all(meta["turn"] != 0 for meta, _ in place.requests()):
        number += 1
        place.loop.wait_for("iteration_recorded", number=number)
    one = work_on(place, 1, FINAL_ONE)
    place.model.scenario.play(turns(place.agent, one))
    _, before, _ = finish_and_check(place, [one])
    check(before, "no run hung")
    for hung in before:
        # One that prints nothing at all says nothing of the task.
        has_printed = place.ask("show", str(hung["iteration"]), "--stdout").strip()
        outcome = "failure" if has_printed else "interrupted"
        equal((hung["outcome"], hung["exit_reason"]), (outcome, "idle_timeout"), "a run that hung")


def ctrl_c(place):
    """Ctrl-C while a tool sleeps, with a child in the background: nothing is left, and the iteration is recorded."""
    pipe = place.folder / "started"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    command = f"echo started > '{pipe}'; sleep 297 & sleep 298; echo never > never.txt"
    place.model.scenario.play(turns(place.agent, [step("A long job.", [("shell", command)]), step("Done.")]))
    place.start()
    ready, _, _ = select.select([reader], [], [], max(0, place.end - time.monotonic()))
    os.close(reader)
    check(ready, "the tool was not started in time")
    session = place.loop.wait_for("session_started")["session"]
    sleepers = [line for _, line in processes.marked("RALPH_SESSION", session) if "sleep 29" in line]
    check(sleepers, "the tool does not sleep")
    begun = time.monotonic()
    place.loop.child.send_signal(signal.SIGINT)
    equal(place.loop.finish(), 130, "exit code of the loop")
    check(time.monotonic() - begun < 20, f"it took {time.monotonic() - begun:.0f} s to stop")
    session = place.session()
    equal((session["status"], session["stop_reason"]), ("interrupted", "interrupted"), "end of the session")
    equal([record["outcome"] for record in place.iterations()], ["interrupted"], "outcome")
    check_nothing_left(place, session)


def long_prompt(place):
    """A prompt of 300 KB comes whole."""
    template = place.project / ".specify/templates/ralph-prompt.md"
    template.parent.mkdir(parents=True)
    lines = "".join(f"Line {number} of a prompt that is very long, with an ü in it.\n" for number in range(5200))
    template.write_text(f"Do task {{{{ current_task.id }}}} of {{{{ tasks_path }}}}.\n\n{lines}\nThis is the end of the prompt.\n")
    place.commit("Write a long prompt")
    one = work_on(place, 1, FINAL_ONE)
    place.model.scenario.play(turns(place.agent, one))
    place.start("--task", "T001")
    _, _, (record,) = finish_and_check(place, [one])
    size = len(place.ask("show", str(record["iteration"]), "--prompt"))
    check(size > 300_000, f"the prompt has only {size} bytes")


def several(place):
    """Two agents at once, with one login: each task is on the branch once, and nothing of the user's is changed."""
    words = ["one", "two", "three", "four"]
    listed = [f"T00{number} [P] Write the word {word} into {word}.txt" for number, word in enumerate(words, 1)]
    (place.project / FEATURE / "tasks.md").write_text("# Tasks: Words\n\n" + "".join(f"- [ ] {task}\n" for task in listed))
    place.commit("Plan more words")

    def steps(number, word):
        # Some refuse to have a file edited in place that they did not read.
        list, new = f"{FEATURE}/tasks.md", f"{FEATURE}/new"
        box = f"sed 's/\\[ \\] T00{number}/[x] T00{number}/' {list} > {new} && mv {new} {list}"
        return [
            step("I write it.", [("shell", f"printf '{word}\\n' > {word}.txt")]),
            step("I tick the box.", [("shell", box)]),
            step(f"T00{number} is done.\n\n<promise>COMPLETE</promise>"),
        ]

    # What agents say of the repository names other tasks before the prompt does.
    scripts = {f"**T00{number} ": turns(place.agent, steps(number, word)) for number, word in enumerate(words, 1)}
    place.model.scenario.play_each(scripts)
    is_old = place.has_login and place.agent.old_login is not None
    if is_old:
        place.log_in_long_ago()
    place.start("--jobs", "2")
    equal(place.loop.finish(), 0, "exit code of the loops")
    sessions = json.loads(place.ask("log", "--sessions", "--json"))["sessions"]
    equal([session["status"] for session in sessions], ["completed"] * 2, "how the sessions ended")
    titles = place.git("log", "--format=%s", f"main..{BRANCH}").splitlines()
    equal(sorted(title[:4] for title in titles), [task[:4] for task in listed], "tasks of the commits")
    for word in words:
        equal(place.git("show", f"{BRANCH}:{word}.txt"), f"{word}\n", f"{word}.txt on the branch")
    problems = [meta["problem"] for meta, _ in place.requests() if meta["problem"]]
    equal(problems, [], "requests that the model did not expect")
    equal(processes.left("HOME", str(place.home), 2), [], "processes of the run")
    equal(place.git("status", "--porcelain", "--untracked-files=all"), "", "the user's work tree")
    place.ask("fsck")
    if is_old:
        check_renewed(place)
    elif place.is_fenced:
        check_home(place)


def check_renewed(place):
    """The login was renewed once, in turn, and is whole: the user has what counts now."""
    login = place.model.login
    equal((login.number, login.refused), (1, []), "renewals of the login, and those that came too late")
    (path,) = place.agent.old_login({})
    tokens = json.loads((place.home / path).read_text())["tokens"]
    equal(tokens["refresh_token"], f"renews-{login.number}", "the user's login")
    keys = {meta["key"] for meta, _ in place.requests() if meta["turn"] is not None}
    equal(keys, {tokens["access_token"]}, "what the model was asked with")


# In the order in which they are shown.
SCENES = {
    "happy": happy,
    "quota": quota,
    "bad key": bad_key,
    "cut stream": cut,
    "early end": early_end,
    "hang": hang,
    "Ctrl-C": ctrl_c,
    "long prompt": long_prompt,
    "two at once": several,
}

# No scene may last longer, however busy the machine is.
SECONDS = 300
