"""Nights about what the record says, and what prompts have of it."""

from night import night


def says(*parts):
    """progress.txt has these texts."""

    def check(project):
        text = project.read("specs/001-shop/progress.txt")
        missing = [part for part in parts if part not in text]
        return f"progress.txt lacks {missing}" if missing else None

    return check


night(
    name="does-another-task",
    models="asked for a phase, the agent does a later task first: the record says which is done and which is open",
    tasks=["## Phase 1: All", "T001 Write part 1", "T002 Write part 2", "T003 Write part 3"],
    settings='unit = "phase"\n',
    agent='if once other; then mkdir -p src; echo "echo part 003" > src/T003.sh; edit "s/\\[ \\] T003 /[x] T003 /" "$RALPH_TASKS"; '
    "echo Done.; else for k in 001 002; do echo 'echo part' > src/T$k.sh; "
    'edit "s/\\[ \\] T$k /[x] T$k /" "$RALPH_TASKS"; done; note correct; echo Done.; fi',
    reason=r"all 3 tasks done",
    check_after=says(
        "**Task**: T001 Write part 1\n**Status**: ⬜ Still open\n**Also closed**: T003\n",
        "**Status**: ✅ Completed\n**Also closed**: T002\n",
        "## Session ended - ",
    ),
)
night(
    name="learning-of-a-failure",
    models="a failed attempt learns something wrong twice: it is told as such and never proposed as a pattern",
    agent='case "$RALPH_TASK$attempts" in T0021|T0022) spoil; printf "Learnings:\\n- parts need no syntax\\n";; '
    "*) good;; esac",
    reason=r"all 5 tasks done",
    check_after=lambda project: (
        "a pattern is proposed" if "(proposed:" in project.read("specs/001-shop/progress.txt") else None
    ),
)
