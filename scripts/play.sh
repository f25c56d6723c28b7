#!/bin/sh
# Uses an installed program as a new user would, with git and a shell alone: the demo, then a loop of two tasks whose agent is a shell
# script, and the screens that read its record. It leaves nothing behind.
#
#     scripts/play.sh git ralph
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/home" "$folder/project"
export HOME="$folder/home" TMPDIR="$folder" GIT_CONFIG_NOSYSTEM=1
unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME
git config --global user.name Ada
git config --global user.email ada@example.org
git config --global init.defaultBranch main

# The first argument is what must be printed.
prints() {
  expected=$1
  shift
  if ! "$@" > "$folder/printed" 2>&1 || ! grep -q -e "$expected" "$folder/printed"; then
    cat "$folder/printed"
    echo "play: \`$*\` failed, or printed no \`$expected\`" >&2
    exit 1
  fi
}

prints '^specify-ralph [0-9]' "$@" --version
prints 'ralph log' "$@" demo

cd "$folder/project"
git init --quiet .
mkdir -p .specify specs/001-moon
printf '# Tasks\n\n- [ ] T001 Write one\n- [ ] T002 Write two\n' > specs/001-moon/tasks.md
cat > agent.sh <<'END'
echo "$RALPH_TASK" > "$RALPH_TASK.txt"
sed "s/\[ \] $RALPH_TASK/[x] $RALPH_TASK/" "$RALPH_TASKS" > tasks.new
cat tasks.new > "$RALPH_TASKS"
rm tasks.new
END
cat > .specify/ralph.toml <<'END'
agent = "shell"
commit = "task"
validation.command = "test -e T001.txt"

[agents.shell]
command = ["sh", "agent.sh"]
END
git add .
git commit --quiet -m 'A project'
SPECKIT_RALPH_TRUST=always prints 'T002' "$@" run -n 5
prints 'T001' "$@" log
prints '2 of 2\|2/2' "$@" status
prints 'T002.txt' "$@" show T002 --patch
prints '' "$@" fsck
[ "$(git rev-list --count main)" = 3 ] || { git log --oneline; echo 'play: not a commit for each task' >&2; exit 1; }
[ -z "$(git status --porcelain --untracked-files=no)" ] || { git status; echo 'play: changes are left' >&2; exit 1; }
echo "play: $* demo, run, log, status, show and fsck are as they should be"
