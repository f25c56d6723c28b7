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
  sed -i "s/\\[x\\] $RALPH_TASK /[ ] $RALPH_TASK /" "$RALPH_TASKS"; echo "I could not commit."; exit 0
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
