"""Nights in which an attempt leaves something behind beside its work: a state of git, a lock, a user's file that is gone."""

from night import night

# Two branches that conflict in `f`.
CONFLICT = """
if once left; then
  git switch -q -c side; echo theirs > f; git add f; git commit -qm theirs
  git switch -q main; echo ours > f; git add f; git commit -qm ours
  {} >/dev/null 2>&1
fi
good
"""


def mine(project):
    project.write("src/mine.sh", "echo mine\n")


def restored(project):
    """The command that the closing lines print works."""
    project.ralph("restore", "0", "src/mine.sh")
    return None if project.read("src/mine.sh") == "echo mine\n" else "src/mine.sh is not back"


def untracked(project):
    """The specification is in no commit."""
    project.git("rm", "-q", "-r", "--cached", "specs")
    project.git("commit", "-qm", "The specification is not committed")


night(
    name="a merge that is left in a conflict",
    models="an agent merges the main branch, meets a conflict and says that it is done",
    agent=CONFLICT.format("git merge side"),
    reason=r"no task is open, but a merge is in progress.*\n.*git merge --abort",
)

night(
    name="a rebase that is left in a conflict",
    models="an agent rebases its branch and ends in the middle of it",
    agent=CONFLICT.format("git rebase side"),
    reason=r"no task is open, but a rebase is in progress.*\n.*git rebase --abort",
)

night(
    name="a bisection that nobody ends",
    models="an agent looks for a bug with `git bisect` and forgets to end it",
    agent="once left && git bisect start >/dev/null 2>&1\ngood\n",
    reason=r"no task is open, but a bisection is in progress.*\n.*git bisect reset",
)

night(
    name="a stale index.lock",
    models="the tool of an agent kills git in the middle of `git add`; every later commit would fail",
    agent="""
part; tick
if ! git add -A || ! git commit -qm "$RALPH_TASK"; then
  edit "s/\\[x\\] $RALPH_TASK /[ ] $RALPH_TASK /" "$RALPH_TASKS"; echo "I could not commit."; exit 0
fi
note correct
once left && : > .git/index.lock
echo "Done."
""",
    reason="all 5 tasks done",
)

night(
    name="git checkout over the user's work",
    models="an agent cleans up with `git clean -fd` and deletes a file of the user's that was in no commit",
    agent="once left && git clean -qfd src\ngood\n",
    prepare=mine,
    reason=r"your uncommitted work is gone: src/mine.sh deleted",
    check_after=restored,
)

night(
    name="git stash over finished tasks",
    models="an agent resets the tree when its task gets difficult, and takes back what two tasks before it did",
    agent="if [ $RALPH_TASK = T003 ] && once left; then git add -A; git stash -q; git stash drop -q; exit 0; fi\ngood\n",
    reason=r"all 5 tasks done.*\n8 attempts, 1 failed, 1 of them solved",
)

night(
    name="git clean over finished tasks",
    models="an agent deletes the files of the tasks before it, and goes on with its own",
    agent="[ $RALPH_TASK = T003 ] && once left && git clean -qfd src\ngood\n",
    reason=r"all 5 tasks done · 1 flagged(?s:.*)1 flagged: T003 this attempt undid T001 and T002 \(src/T001.sh, src/T002.sh\)",
)

night(
    name="an open task that is taken from the list",
    models="an agent deletes the line of a task that it does not want to do",
    agent="""[ $RALPH_TASK = T002 ] && edit '/T005/d' "$RALPH_TASKS"\ngood\n""",
    reason=r"4 of 5 tasks done · stuck(?s:.*)restore 1 --tasks specs/001-shop/tasks.md",
)

night(
    name="the feature's folder cleaned away",
    models="an agent runs `git clean -fdx`, and with it goes the specification, which is in no commit",
    agent="if [ $RALPH_TASK = T003 ] && once left; then git clean -qfdx; exit 0; fi\ngood\n",
    prepare=untracked,
    calls=[["run"], ["resume"], ["restore", "2", "--tasks"], ["resume"]],
    reason="all 5 tasks done",
    check_after=lambda project: None if project.git("ls-files", "--others", "src") else "src is not back",
)

night(
    name="work on a branch of its own",
    models="an agent commits its work on a new branch and goes back, as one with a work tree for each subagent does",
    agent="""
if once elsewhere; then
  git switch -q -c "agent-$RALPH_TASK"; part; git add src; git commit -qm "$RALPH_TASK"; git switch -q main
  echo "It is committed."
elif git rev-parse -q --verify "agent-$RALPH_TASK" >/dev/null; then
  git merge -q "agent-$RALPH_TASK"; tick; note correct; echo "Done."
else
  good
fi
""",
    settings="skip-after = 1\n",
    reason="all 5 tasks done",
    check_after=lambda project: (
        None if "the work is on the branch" in project.ralph("show", "1") else "the branch is not named"
    ),
)

night(
    name="a list that is written anew",
    models="an agent plans again in the middle of the night: other tasks under the same ids, all boxes open",
    agent="""
if [ "$RALPH_TASK" = T003 ] && once anew; then
  edit "s/\\[x\\]/[ ]/; s/Write part/Make piece/" "$RALPH_TASKS"; echo "I planned anew."
else
  good
fi
""",
    calls=[["run", "-n", "3"], ["restore", "2", "--tasks"], ["run"]],
    reason="all 5 tasks done",
    check_after=lambda project: (
        None
        if "another task list than before: 2 done tasks are open again" in project.ralph("log", "--failed")
        else "the list is not named"
    ),
)

night(
    name="work that git does not keep",
    models="each task makes a file that git ignores, and nothing else",
    agent='echo "$RALPH_TASK=1" > ".env.$RALPH_TASK"; tick; note correct; echo "Done."',
    files={".gitignore": ".env*\n"},
    reason=r"all 5 tasks done · 5 flagged",
)

night(
    name="core.bare is flipped",
    models="a test suite under a hook writes `core.bare = true` into the repository's settings",
    agent="once bare && git config core.bare true\ngood\n",
    settings='commit = "task"\n',
    reason=r"(?s)all 5 tasks done.*git config core.bare false",
)
