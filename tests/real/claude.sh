#!/usr/bin/env bash
# Drives the loop with the real `claude` program against a scripted model on loopback, in a project made by the real `specify init`.
#
# usage: tests/real/claude.sh [--rehearse]
#
#   SPECIFY_RALPH_BIN   our `specify` (default: target/release/specify)
#   RALPH_CI_CACHE      where claude and spec-kit are installed once (default: target/agents)
#   RALPH_CI_KEEP       a folder for all that the run leaves behind, to look at (default: a temporary one, removed at the end)
#
# --rehearse plays the same scenario with claude alone, without our loop: it tells a new claude from a fault of ours.
# Where npm or PyPI cannot be reached, the test says so and is skipped; with CI=true it fails.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${RALPH_CI_CACHE:-$root/target/agents}
speckit_version=1.2.3
model=claude-sonnet-4-5

say() { printf '%s\n' "claude.sh: $*"; }
fail() { say "FAILED: $*" >&2; exit 1; }
skip() {
  [[ ${CI:-} == true ]] && fail "$*"
  say "SKIPPED: $*"
  exit 0
}

rehearse=false
case ${1:-} in
  '') ;;
  --rehearse) rehearse=true ;;
  *) fail "unknown argument $1" ;;
esac

# What the user's own tools need to be installed comes from the user's own environment; all that follows has a home of its own.
install_tools() {
  mkdir -p "$cache"
  claude=$(RALPH_CI_CACHE=$cache python3 -B "$here/install.py" claude) || skip "claude cannot be installed"
  local specify
  specify=$(RALPH_CI_CACHE=$cache python3 -B "$here/../spec-kit/install.py" "$speckit_version") || skip "spec-kit cannot be installed"
  speckit=$(dirname "$specify")
  say "claude $("$claude" --version), spec-kit $speckit_version"
}

install_tools

if $rehearse; then
  ours=
else
  ours=${SPECIFY_RALPH_BIN:-$root/target/release/specify}
  [[ -x $ours ]] || fail "$ours does not exist; build it with: cargo build --release"
  ours=$(cd "$(dirname "$ours")" && pwd)/$(basename "$ours")
  [[ $(basename "$ours") == specify ]] || fail "SPECIFY_RALPH_BIN must name a program called specify"
fi

if [[ -n ${RALPH_CI_KEEP:-} ]]; then
  work=$RALPH_CI_KEEP
  [[ ! -e $work ]] || fail "RALPH_CI_KEEP=$work exists already"
  mkdir -p "$work"
  work=$(cd "$work" && pwd -P)
else
  work=$(cd "$(mktemp -d)" && pwd -P)
fi
server=
finish() {
  local status=$?
  if [[ -n $server ]]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  [[ -n ${RALPH_CI_KEEP:-} ]] || rm -rf "$work"
  exit "$status"
}
trap finish EXIT

# An environment with nothing of the user's in it.
python=$(dirname "$(python3 -c 'import sys; print(sys.executable)')")
node=$(command -v node || true)
mkdir -p "$work/home" "$work/tmp" "$work/bin" "$work/streams"
project=$work/project
for name in $(compgen -e); do
  case $name in
    PATH | LANG | TERM | CI | RALPH_CI_KEEP) ;;
    *) unset "$name" ;;
  esac
done
export HOME=$work/home TMPDIR=$work/tmp GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8 IS_SANDBOX=1
export CLAUDE_CODE_TMPDIR=$work/tmp DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 ANTHROPIC_API_KEY=none-is-needed
export PATH=$work/bin:${ours:+$(dirname "$ours"):}$speckit:$python:${node:+$(dirname "$node"):}/usr/local/bin:/usr/bin:/bin
git config --global user.name 'Ada Example'
git config --global user.email ada@example.com
git config --global init.defaultBranch main

# The claude on the PATH is the real one, with a second, independent copy of what it prints.
cat >"$work/bin/claude" <<END
#!/usr/bin/env bash
case "\$*" in *--version*) exec '$claude' "\$@" ;; esac
'$claude' "\$@" | tee "$work/streams/\$(ls '$work/streams' | wc -l).jsonl"
exit "\${PIPESTATUS[0]}"
END
chmod +x "$work/bin/claude"

# The project, as a user of spec-kit makes it. Our `specify` comes first on the PATH and hands `init` on.
cd "$work"
specify init project --integration claude --script sh --ignore-agent-tools --non-interactive >"$work/init.log" 2>&1 </dev/null \
  || { cat "$work/init.log" >&2; fail "specify init failed"; }
[[ -f $project/.specify/templates/tasks-template.md ]] || fail "specify init made no project"
cd "$project"
git init --quiet
bash .specify/scripts/bash/create-new-feature.sh --json --short-name greeting 'Greet people' >/dev/null 2>&1
[[ -f specs/001-greeting/spec.md ]] || fail "spec-kit made no feature"
cp -R "$here/greeting/project/." .
mkdir tests
git add --all
git commit --quiet --message 'Plan the greeting'
say "project made by specify init, with the feature specs/001-greeting"

# The model.
PYTHONPATH=$here python3 -B -m model.server --scenario "$here/greeting/scenario.json" --set "project=$project" \
  --log "$work/requests" --port-file "$work/port" 2>"$work/server.log" &
server=$!
for _ in {1..200}; do
  [[ -s $work/port ]] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/server.log" >&2; fail "the model server ended"; }
  sleep 0.05
done
[[ -s $work/port ]] || fail "the model server does not listen"
export ANTHROPIC_BASE_URL=http://127.0.0.1:$(<"$work/port")

head=$(git rev-parse HEAD)
status=0
if $rehearse; then
  for task in T001 T002 T003; do
    printf 'Do task %s of the feature greeting.\n' "$task" \
      | claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model "$model" >/dev/null || status=$?
    sh run-tests.sh || fail "the tests fail after $task"
  done
else
  specify ralph --agent claude --model "$model" --validate 'sh run-tests.sh' --set validation.clean=off --json >"$work/events.jsonl" 2>"$work/talk.log" </dev/null \
    || status=$?
fi
show_run() {
  tail -n 40 "$work/talk.log" "$work/events.jsonl" "$work/server.log" 2>/dev/null >&2 || true
  grep -h '"problem": "' "$work"/requests/*.meta.json >&2 || true
}
[[ $status == 0 ]] || { show_run; fail "the run exited $status"; }
! grep -q '^- \[ \]' specs/001-greeting/tasks.md || { show_run; fail "a box is still open"; }
say "all boxes are ticked, exit 0"

python3 "$here/check_claude.py" left "$work" "$server"
python3 "$here/check_claude.py" requests "$work" "$here/greeting/scenario.json"
$rehearse && { say "the rehearsal went well"; exit 0; }

python3 "$here/check_claude.py" record "$work" "$here/greeting/scenario.json" "$model"
specify ralph rebuild --check || fail "rebuild --check found a difference"
git fsck --strict --no-progress >"$work/fsck.log" 2>&1 || { cat "$work/fsck.log" >&2; fail "git fsck --strict found a fault"; }
! grep -v '^dangling\|^notice: ' "$work/fsck.log" >&2 || fail "git fsck --strict has something to say"
say "rebuild --check and git fsck --strict are content"

[[ $(git rev-parse HEAD) == "$head" && $(git symbolic-ref HEAD) == refs/heads/main ]] || fail "the user's branch moved"
git diff --cached --quiet HEAD || fail "the user's index changed"
[[ -z $(git stash list) ]] || fail "the user's stash changed"
left=$(find .git \( -name '*.lock' -o -name 'tmp_obj_*' \) -print)
[[ -z $left ]] || fail "left in the git directory: $left"
left=$(find "$(git rev-parse --git-common-dir)/ralph/spool" -type f 2>/dev/null || true)
[[ -z $left ]] || fail "left in the spool: $left"
say "branch, index and stash are as they were"

# A clone that fetched nothing but the refs reads the same, with git alone and with us.
git clone --quiet --no-local "$project" "$work/clone"
git -C "$work/clone" fetch --quiet origin 'refs/ralph/*:refs/ralph/*'
sh "$here/reader.sh" "$project" "$work/read-here"
sh "$here/reader.sh" "$work/clone" "$work/read-clone"
diff -r "$work/read-here" "$work/read-clone" || fail "the clone reads differently"
cmp "$project/specs/001-greeting/progress.txt" "$work"/read-clone/*/*/progress.txt || fail "git alone gives another progress.txt"
(cd "$work/clone" && specify ralph rebuild >/dev/null && cmp specs/001-greeting/progress.txt "$project/specs/001-greeting/progress.txt") \
  || fail "rebuild on a clone gives another progress.txt"
say "PASSED"
