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

MESSAGE_HOOK = """#!/bin/sh
head -1 "$1" | grep -qE '^(feat|fix)(\\(.+\\))?: ' || { echo "type may not be empty"; exit 1; }
"""


def message_hook(project):
    project.write(".git/hooks/commit-msg", MESSAGE_HOOK)
    (project.repo / ".git/hooks/commit-msg").chmod(0o755)


night(
    name="a hook that wants another subject",
    models="the commit-msg hook takes only `feat: ...`, and nothing says so to the loop",
    agent="good",
    settings='commit = "task"\n',
    prepare=message_hook,
    reason=r"(?s)all 5 tasks done.*T005 are done, and their work is not committed",
    check_after=lambda project: None if "T00" not in project.git("log", "--format=%s") else "a commit was made",
)

night(
    name="a subject that the hook takes",
    models="the same with `commit-subject`",
    agent="good",
    settings='commit = "task"\ncommit-subject = "feat({{ feature }}): {{ task }} {{ text }}"\n',
    prepare=message_hook,
    reason="all 5 tasks done",
    check_after=lambda project: (
        None if project.git("log", "--format=%s").count("feat(") == 5 else project.git("log", "--format=%s")
    ),
)
