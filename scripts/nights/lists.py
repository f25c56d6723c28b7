"""Nights whose task list, validation or progress.txt is not as one would write it."""

from night import night

ASKED = ["T001 Write part 1", "T002 Write part 2", "T003 Write part 3"]


def has(path, *parts):
    """The file has all of these parts in the morning."""

    def look(project):
        missing = [part for part in parts if part not in project.read(path)]
        return f"{path} lacks {missing}: {project.read(path)!r}" if missing else None

    return look


night(
    name="other-ticks",
    models="the agent ticks with a check mark of its own, in a list that has some already",
    tasks=["- [✓] T000 Write part 0", *ASKED, "T004 Write part 4 (depends on T000)"],
    agent="""part; edit "s/\\[ \\] $RALPH_TASK /[✅] $RALPH_TASK /" "$RALPH_TASKS"; note correct; echo "Done." """,
    check_after=has("specs/001-shop/tasks.md", "- [✓] T000", "- [✅] T004"),
    reason=r"all 5 tasks done",
)
night(
    name="struck",
    models="two tasks were cancelled, and others waited for them",
    tasks=["- [ ] ~~T001 Write part 1~~", "T002 Write part 2 — won't do", "T003 Write part 3 (depends on T001, T002)", "T004 Write part 4"],
    agent="""case $n in 003|004) good;; *) note futile;; esac""",
    reason=r"all 2 tasks done",
)
night(
    name="copies",
    models="the agent ticks a copy of the line and leaves the task open",
    tasks=ASKED,
    agent="""part; grep "$RALPH_TASK " "$RALPH_TASKS" | head -1 | sed 's/\\[ \\]/[x]/' > "$NIGHT/copy"; cat "$NIGHT/copy" >> "$RALPH_TASKS"; note correct; echo "Done." """,
    check_after=has("specs/001-shop/tasks.md", "- [x] T001 Write part 1\n- [x] T002"),
    reason=r"all 3 tasks done",
)
night(
    name="same-task-twice",
    models="a task stands in the list twice, and the agent ticks the first",
    tasks=[*ASKED, "T001 Write part 1"],
    agent="""part; line=$(grep -n "\\[ \\] $RALPH_TASK " "$RALPH_TASKS" | head -1); edit "${line%%:*}s/\\[ \\]/[x]/" "$RALPH_TASKS"; note correct; echo "Done." """,
    reason=r"all 3 tasks done",
)
night(
    name="conflict-markers",
    models="somebody left conflict markers in the list",

    agent="note futile; good",
    files={"specs/001-shop/tasks.md": "# Tasks\n\n<<<<<<< HEAD\n- [x] T001 Write part 1\n=======\n- [ ] T001 Write part 1\n>>>>>>> side\n"},
    shown_by=0,
    reason=r"line 3 is a conflict marker",
)
night(
    name="broken-list",
    models="the agent writes a byte into the list that is no text",
    tasks=ASKED,
    agent="""good; printf '\\377' >> "$RALPH_TASKS" """,
    goal=0.0,
    reason=r"cannot be read",
)
night(
    name="watch-mode",
    models="the validation watches files and never ends",
    tasks=ASKED,
    agent="good",
    check="echo 'Waiting for file changes...'; sleep 1000",
    settings='validation.timeout = "1s"\n',
    goal=0.0,
    reason=r"watch mode",
)
night(
    name="rewritten-progress",
    models="the agent writes progress.txt anew each time, and a repair brings the entries back in the morning",
    tasks=ASKED,
    agent="""good; echo "# My log of $RALPH_TASK" > "$RALPH_PROGRESS" """,
    calls=[["run"], ["fsck", "--repair"]],
    check_after=has("specs/001-shop/progress.txt", "# My log of T003", "## Iteration 1 ", "## Iteration 2 ", "## Iteration 3 "),
    reason=r"differs from the record .*\(repaired\)",
)
night(
    name="many-files",
    models="a task installs 3,000 files before there is a .gitignore",
    tasks=ASKED,
    agent="""[ $n = 002 ] && mkdir -p node_modules/a && (cd node_modules/a && seq 3000 | xargs -I{} touch {}.js)
good""",
    check_after=has("specs/001-shop/progress.txt", "and 2,982 more in 3 folders"),
    reason=r"all 3 tasks done",
)
