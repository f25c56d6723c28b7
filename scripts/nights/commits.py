"""Nights with `commit = "task"`: hooks that change files, and commits that wait for somebody."""

from night import night

HOOK = """#!/bin/sh
bad=$(git diff --cached --name-only | grep '^src/' | xargs -r grep -l ' $')
[ -z "$bad" ] && exit 0
for file in $bad; do fixed=$(sed 's/ *$//' "$file"); printf '%s\\n' "$fixed" > "$file"; done; echo "fixed $bad"; exit 1
"""


def hook(project):
    project.write(".git/hooks/pre-commit", HOOK)
    (project.repo / ".git/hooks/pre-commit").chmod(0o755)


def signing(project):
    project.write(".git/gpg", "#!/bin/sh\nexec sleep 1000\n")
    (project.repo / ".git/gpg").chmod(0o755)
    project.git("config", "gpg.program", ".git/gpg")
    project.git("config", "commit.gpgSign", "true")


def committed(*tasks):
    def check(project):
        subjects = project.git("log", "--format=%s").split("\n")
        missing = [task for task in tasks if not any(line.startswith(task) for line in subjects)]
        return f"not committed: {missing}" if missing else None

    return check


night(
    name="a hook that formats",
    models="the pre-commit hook formats what is committed, and fails the first time",
    agent="part; echo '# trailing blanks ' >> src/$RALPH_TASK.sh; tick; note correct; echo Done.",
    settings='commit = "task"\n',
    prepare=hook,
    reason="all 5 tasks done",
    check_after=committed("T001", "T002", "T003", "T004", "T005"),
)

night(
    name="a signature that nobody gives",
    models="commits are signed, and the passphrase is asked for where nobody sits",
    agent="good",
    settings='commit = "task"\n',
    prepare=signing,
    rate=60,
    reason=r"(?s)all 5 tasks done.*T005 are done, and their work is not committed",
    check_after=lambda project: None if "T00" not in project.git("log", "--format=%s") else "a commit was made",
)
