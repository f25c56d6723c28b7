#!/usr/bin/env bash
# Uses the program for Windows under Wine: the demo, a loop whose agent is a .cmd shim as npm writes them, the readers, a lane, a file remote,
# Ctrl-C, a killed loop, the browser pages, the screen, and records that Linux reads and that come from there. One line per step.
#
#     cargo build --bins && cargo build --target x86_64-pc-windows-gnu --bins
#     scripts/wine.sh target/x86_64-pc-windows-gnu/debug/specify-ralph.exe FOLDER
#
# FOLDER has programs for Windows: git.exe, the same as git-upload-pack.exe and git-receive-pack.exe, and a POSIX shell with the usual
# tools, sh.exe. Tried are git 2.47.3, built by mingw-w64 with `make uname_S=MINGW MSYSTEM=MINGW64 CC=x86_64-w64-mingw32-gcc NO_CURL=1
# NO_PERL=1 NO_PYTHON=1 NO_OPENSSL=1 NO_GETTEXT=1 NO_EXPAT=1 NO_TCLTK=1 NO_ICONV=1 git.exe`, and busybox-w32. Wine 8 lacks
# bcryptprimitives.dll, which Rust's programs need: one whose `ProcessPrng` calls `SystemFunction036` of advapi32 has to lie in FOLDER.
#
# Two faults are not ours. Wine 8's console counts escape sequences as text, so the screen is drawn in the wrong places: only that it
# begins and ends is looked at. And git crashes there if its output is a pipe of this system, so all output goes to files.
#
# With `RALPH_WINE=env` a program of this system is tried the same way, which tests this script. `RALPH_KEEP=1` keeps the project.
set -euo pipefail

[[ $# == 2 ]] || { echo 'usage: scripts/wine.sh PROGRAM.exe FOLDER-OF-GIT' >&2; exit 2; }
exe=$(realpath "$1")
git_folder=$(realpath "$2")
git_ralph=${exe/%specify-ralph*/git-ralph}${exe##*specify-ralph}
wine=${RALPH_WINE:-wine}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
linux=${RALPH_LINUX:-$here/target/debug/specify-ralph}
for needed in "$wine:wine64" tmux:tmux git:git curl:curl; do
  command -v "${needed%%:*}" >/dev/null || { echo "wine: install ${needed#*:}" >&2; exit 2; }
done
[[ $wine != wine ]] || for needed in "$git_folder"/{git,git-upload-pack,git-receive-pack,sh}.exe; do
  [[ -e $needed ]] || { echo "wine: $needed is missing: see the head of scripts/wine.sh" >&2; exit 2; }
done
for needed in "$exe" "$git_ralph" "$linux"; do
  [[ -x $needed ]] || { echo "wine: $needed is missing: run cargo build" >&2; exit 2; }
done

work=$(mktemp -d /tmp/ralph-wine.XXXXXX)
agents=$work/agents
project=$work/project
tmux=(tmux -L "${work##*/}")
finish() {
  # The agent that waits ends by this.
  touch "$project/go"
  "${tmux[@]}" kill-server 2>/dev/null || true
  [[ $wine != wine ]] || wineserver -k 2>/dev/null || true
  [[ -n ${RALPH_KEEP:-} ]] && echo "kept: $work" || rm -rf "$work"
}
trap finish EXIT
mkdir -p "$agents" "$project/specs/001-moon" "$project/.specify" "$work/home"
export WINEPREFIX=$work/prefix WINEARCH=win64 WINEDEBUG=-all HOME=$work/home SPECKIT_RALPH_TRUST=always
export GIT_CONFIG_NOSYSTEM=1
if [[ $wine == wine ]]; then
  export WINEPATH="Z:${agents//\//\\};Z:${git_folder//\//\\}" GIT_CONFIG_GLOBAL=Z:$work/gitconfig
  wineboot --init >/dev/null 2>&1
else
  export PATH=$agents:$PATH GIT_CONFIG_GLOBAL=$work/gitconfig
fi
# The programs of this system get the path without a drive.
here_git() { GIT_CONFIG_GLOBAL=$work/gitconfig git "$@"; }
ralph() { timeout 500 "$wine" "$exe" "$@"; }
git_ralph() {
  local folder=${git_ralph%/*}
  if [[ $wine == wine ]]; then WINEPATH="$WINEPATH;Z:${folder//\//\\}" timeout 500 wine git.exe ralph "$@"; else PATH=$folder:$PATH git ralph "$@"; fi
}
on_linux() { GIT_CONFIG_GLOBAL=$work/gitconfig "$linux" "$@"; }

fail() {
  echo "✘ $1" >&2
  [[ ! -e $work/out ]] || cat "$work/out" >&2
  exit 1
}
# step NAME EXIT-CODE TEXT COMMAND...: the command ends so, and its output has the text.
step() {
  local name=$1 code=$2 text=$3 ended=0
  shift 3
  "$@" >"$work/out" 2>&1 </dev/null || ended=$?
  [[ $ended == "$code" ]] || fail "$name: \`${*##*/}\` ended with $ended instead of $code:"
  grep -q -e "$text" "$work/out" || fail "$name: \`${*##*/}\` printed no \`$text\`:"
  echo "✔ $name"
}
wait_until() {
  local name=$1 end=$((SECONDS + 300))
  shift
  until "$@"; do
    ((SECONDS < end)) || fail "$name: waited for 300 s:"
    sleep 0.1
  done
}
on_screen() { "${tmux[@]}" capture-pane -p >"$work/out" && grep -q -e "$1" "$work/out"; }
# It may also have ended without an agent.
agent_started() { [[ -e at ]] || ! kill -0 "$loop" 2>/dev/null; }
# interrupted SIGNAL: sends it to the group of `$loop`, as a terminal does, and waits for its end, whose code is in `$ended`.
interrupted() {
  kill -"$1" -- $([[ $1 == KILL ]] && echo "$loop" || echo "-$loop")
  ended=0
  { wait "$loop" || ended=$?; } 2>/dev/null
}
new_project() {
  mkdir -p "$1/specs/001-moon" "$1/.specify" && cd "$1"
  here_git init -q -b main
  here_git config core.autocrlf false
  printf '# Tasks\n\n- [ ] T001 Write one\n- [ ] T002 Write two\n%s' "$2" >specs/001-moon/tasks.md
  printf 'agent = "shim"\nvalidation.command = "test -e T001.txt"\n\n[agents.shim]\ncommand = ["%s"]\n' "$3" >.specify/ralph.toml
  printf 'at\ngo\n' >.gitignore
  here_git add . && here_git commit -q -m 'A project'
}

cd "$work"
step 'the program starts' 0 '^specify-ralph [0-9]' ralph --version
step 'demo' 0 '4 of 5 tasks done' ralph demo
# Shells of Windows know no such quotes.
grep -q "^  [^']*specify-ralph[.a-z]* fsck" "$work/out" || fail 'demo: our program is named in quotes:'

here_git config --file "$work/gitconfig" user.name Ada
here_git config --file "$work/gitconfig" user.email ada@example.org
waiter=busybox-$$
cat >"$agents/work.sh" <<'END'
cat >/dev/null
[ "$RALPH_TASK" != T003 ] || exec "$WAITER" sh "$(dirname "$0")/wait.sh"
echo "$RALPH_TASK" >"$RALPH_TASK.txt"
list=$(sed "s/\[ \] $RALPH_TASK/[x] $RALPH_TASK/" "$RALPH_TASKS")
printf '%s\n' "$list" >"$RALPH_TASKS"
END
printf 'echo >at\nwhile [ ! -e go ]; do sleep 0.2; done\n' >"$agents/wait.sh"
if [[ $wine == wine ]]; then
  printf '@sh "%%~dp0work.sh" %%*\r\n' >"$agents/moon-agent.cmd"
  # By such a name busybox is all its tools, and the agent that waits is found by it.
  cp "$git_folder/sh.exe" "$agents/$waiter.exe"
else
  printf '#!/bin/sh\nexec sh %s/work.sh\n' "$agents" >"$agents/moon-agent"
  printf '#!/bin/sh\nshift\nexec bash -c ". \\"$1\\"" %s\n' "$waiter" >"$agents/$waiter"
  chmod +x "$agents/moon-agent" "$agents/$waiter"
fi
export WAITER=$waiter
no_agent() { ! pgrep -f "$waiter" >/dev/null; }
new_project "$project" $'- [ ] T003 Wait\n' moon-agent

step 'a loop with a .cmd agent' 4 '2 of 3' ralph run -n 2
step 'log' 0 'T001' ralph log
step 'log as git ralph' 0 'T001' git_ralph log
step 'status' 0 '2 of 3\|2/3' ralph status
step 'show' 0 'T002.txt' ralph show T002 --patch
step 'diff' 0 'T001.txt' ralph diff 0 .. --stat
step 'report' 0 '' ralph report --output report.html
grep -q '<html' report.html || fail 'report: no page'
rm report.html
step 'stats' 0 'T001\|terations\|ttempts' ralph stats
step 'memory' 0 'T003' ralph memory
step 'config' 0 'moon-agent\|shim' ralph config
step 'doctor' 0 'git' ralph doctor
step 'fsck' 0 '' ralph fsck
rm T002.txt
step 'restore' 0 '' ralph restore 2 T002.txt
[[ $(cat T002.txt) == T002* ]] || fail 'restore: T002.txt is not back'
step 'bisect' 0 'after iteration 2: fails' ralph bisect -- 'test ! -e T002.txt'
step 'Linux verifies the record' 0 '' on_linux fsck
step 'Linux reads the record' 0 'T002' on_linux log

here_git init -q --bare "$work/remote.git"
remote=$work/remote.git
[[ $wine != wine ]] || remote=Z:$remote
step 'sync pushes to a file remote' 0 '' ralph sync "$remote" --yes
here_git clone -q "$project" "$work/clone"
cd "$work/clone"
step 'sync fetches from it' 0 '' ralph sync "$remote" --fetch-only
step 'a fetched record is read' 0 'T002' ralph log
cd "$project"

set -m
for signal in INT KILL; do
  rm -f at
  "$wine" "$exe" run -n 1 >"$work/out" 2>&1 </dev/null &
  loop=$!
  wait_until "the agent starts before $signal" agent_started
  [[ -e at ]] || fail "the loop ended without an agent to send $signal to:"
  ! no_agent || fail "$signal: the agent is not found among the processes"
  if [[ $signal == INT ]]; then
    step 'status while it runs' 0 'T003' ralph status
    step 'a second loop is refused' 3 'another loop' ralph run -n 1
  fi
  interrupted "$signal"
  # Where there are no jobs, the agent of a killed loop goes on until the next loop begins.
  [[ $wine == wine || $signal == INT ]] || touch go
  [[ $ended == $([[ $signal == INT ]] && echo 130 || echo 137) ]] || fail "$signal: the loop ended with $ended"
  wait_until "the agent ends after $signal" no_agent
  echo "✔ $signal ends the loop and its agent"
done
touch go
step 'fsck after a killed loop' 0 '' ralph fsck --repair
step 'resume' 4 '2 of 3' ralph resume -n 1
step 'Linux verifies the record again' 0 '' on_linux fsck

"$wine" "$exe" web --no-open >"$work/web" 2>&1 </dev/null &
loop=$!
wait_until 'web says its address' grep -q 'http://' "$work/web"
step 'web shows a page' 0 '001-moon' curl -sSL --cookie-jar "$work/cookies" "$(grep -om1 'http://[^ ]*' "$work/web")"
interrupted INT
[[ $ended == 0 ]] || fail "web: it ended with $ended"
echo '✔ and ends by Ctrl-C'
set +m

new_project "$work/lane" '' moon-agent
step 'a lane, landed' 0 'landed: 2 commits' ralph run --lane --land
[[ -e T002.txt ]] || fail 'lane: T002.txt is not here'

new_project "$work/linux" '' "$([[ $wine == wine ]] && echo "sh\", \"$agents/work.sh" || echo moon-agent)"
step 'Linux writes a record' 0 'done' on_linux run
step 'it is verified' 0 '' ralph fsck
step 'it is read' 0 'T001' ralph log

"${tmux[@]}" new-session -d -x 100 -y 30 -c "$project" "$wine '$exe' tui"
wait_until 'the screen' on_screen 'T002'
echo '✔ the screen shows a frame'
"${tmux[@]}" send-keys q
wait_until 'the screen ends by q' bash -c "! ${tmux[*]} has-session 2>/dev/null"
echo '✔ and ends by q'
