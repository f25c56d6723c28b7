#!/usr/bin/env bash
# The screen on a real terminal: tmux starts `specify ralph --tui` and `specify ralph tui` on a project like that of the demo, and looks.
#
# usage: tests/tui.sh [PROGRAM]        PROGRAM is target/debug/specify-ralph by default
#
# It waits for what must appear, each time for at most a minute, and for nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fixtures=$PWD/fixtures/demo
program=$(realpath "${1:-target/debug/specify-ralph}")
[[ -x $program ]] || { echo "tui.sh: build $program first" >&2; exit 1; }

work=$(mktemp -d)
project=$work/project
# Called by the name `specify`, it takes `ralph` as its subcommand.
ln -s "$program" "$work/specify"
program=$work/specify
socket=ralph-tui-$$
export HOME=$work GIT_CONFIG_NOSYSTEM=1 SPECKIT_RALPH_TRUST=always
unset RALPH_SESSION TMUX NO_COLOR
clean_up() {
  command tmux -L "$socket" kill-server 2>/dev/null || true
  (cd "$project" && "$program" ralph stop --now && "$program" ralph status --watch) >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT

tmux() { command tmux -L "$socket" -f /dev/null "$@"; }
picture() { tmux capture-pane -p -t "${1:-main}"; }

fail() {
  printf 'tui.sh: %s\n' "$1" >&2
  picture >&2 || true
  exit 1
}

# wait_for TEXT: until it is on the screen
wait_for() {
  local deadline=$((SECONDS + 60))
  until picture | grep -qF -- "$1"; do
    ((SECONDS < deadline)) || fail "waited in vain for: $1"
    sleep 0.05
  done
}

# wait_until DESCRIPTION COMMAND...
wait_until() {
  local what=$1 deadline=$((SECONDS + 60))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || fail "waited in vain until $what"
    sleep 0.05
  done
}

keys() { tmux send-keys -t main "$@"; }
one_line() { [[ $(picture | grep -cE ' T001 [0-9]+ (s|min)') == 1 ]]; }
is_gone() { ! kill -0 "$1"; }
has_no_loop() { ! (cd "$project" && "$program" ralph status) | grep -q ' · running '; }

# The terminal is as a shell wants it: the settings from before, the normal screen, no mouse, and a cursor.
check_clean() {
  keys "stty -g > $work/after; echo settings-are-kept" Enter
  wait_for 'settings-are-kept'
  wait_until 'the settings are written' test -s "$work/after"
  cmp "$work/before" "$work/after" || fail "$1: the settings of the terminal differ"
  rm "$work/after"
  local state
  state=$(tmux display-message -p -t main '#{alternate_on} #{mouse_any_flag} #{cursor_flag}')
  [[ $state == '0 0 1' ]] || fail "$1: alternate screen, mouse, cursor: $state"
  keys 'clear' Enter
  printf '  clean after %s\n' "$1"
}

# The project of the demo, with an agent that takes its time: it waits for a file before it goes on.
mkdir -p "$project/.specify" "$project/specs/001-greeting"
cp "$fixtures/ralph.toml" "$project/.specify/"
cp "$fixtures"/{agent.toml,check.sh} "$project/"
cp "$fixtures"/{spec,plan,tasks}.md "$project/specs/001-greeting/"
cat >"$project/agent.sh" <<END
echo "The agent begins with \$RALPH_TASK"
printf 'a sequence: \\033[31mred\\033[0m\\n'
touch "$work/at-\$RALPH_TASK"
while [ ! -e "$work/go-\$RALPH_TASK" ]; do sleep 0.05; done
echo "\$RALPH_TASK \$RALPH_ITERATION" >>work.txt
list=\$(sed "s/- \\[ \\] \$RALPH_TASK /- [x] \$RALPH_TASK /" "\$RALPH_TASKS")
printf '%s\\n' "\$list" >"\$RALPH_TASKS"
END
git -C "$project" init -q -b main
git -C "$project" add .
git -C "$project" -c user.name=t -c user.email=t@localhost commit -qm 'A feature to work on'

tmux new-session -d -s main -x 100 -y 30 -c "$project" 'bash --norc --noprofile'
tmux set -g remain-on-exit on
tmux set -s set-clipboard on
keys "PS1='ready> '; export HOME=$work; clear" Enter
wait_for 'ready>'
keys "stty -g > $work/before" Enter
wait_until 'the settings are written' test -s "$work/before"

echo 'The loop and the screen'
keys "$program ralph --tui --agent-command 'sh agent.sh' --validate true --set validation.clean=off; echo ended with \$?" Enter
wait_for 'running'
wait_for 'The agent begins with T001'
wait_for 'a sequence: red'
wait_for 'following'
wait_for '0/5'
keys h
wait_for 'hint for T001: '
keys 'use the fake clock' Enter
wait_for "sent; T001's next prompt has it"
keys 4 h 'use the other clock' Enter
wait_for 'sent; the next prompt has it'
keys s
wait_for 'Stop this session?'
keys Escape
wait_for 'hint for T001'
keys r
wait_for 'it runs already'
keys R
wait_for 'stop the session first'
echo '  it hints and stops what runs, and touches none of its files'
touch "$work/go-T001"
keys F F
wait_for 'The agent begins with T002'
wait_for '1/5'
keys p
wait_for 'You are a coding agent'
keys / 'other clock' Enter
wait_for '▌- use the other clock'
keys n
wait_for '▌- use the other clock'
keys / 'no such words' Enter
wait_for '`no such words` is not in what is shown'
keys Escape
echo '  it follows, and finds a hint in the prompt that got it'
keys Escape 4 Up
wait_for '#1 T001'
keys Enter d
wait_for 'work.txt'
keys Escape o
wait_for 'what it did'
keys Escape L
wait_for 'runs now'
keys / 'exit:7'
wait_for 'no attempt matches'
keys Escape Escape S
wait_for '0 of 1  running'
keys Escape F F
wait_for 'The agent begins with T002'
echo '  it shows every view'
tmux resize-window -t main -x 60 -y 20
wait_for 'The agent begins with T002'
tmux resize-window -t main -x 160 -y 50
wait_for 'The agent begins with T002'
tmux resize-window -t main -x 100 -y 30
echo '  it takes any size'
keys q
wait_for 'The loop is still running'
keys Escape
touch "$work/go-T002"
wait_for 'The agent begins with T003'
keys q
wait_for 'The loop is still running'
keys l
wait_for 'the loop continues in the background'
wait_for 'ended with 0'
check_clean 'leaving a loop that runs'

echo 'The screen alone'
keys "GIT_PAGER='cat >$work/paged' $program ralph tui; echo ended with \$?" Enter
wait_for 'The agent begins with T003'
wait_for 'a sequence: red'
wait_for '─ live ─'
keys v
wait_until 'the pager has all of it' grep -q '␛\[31mred' "$work/paged"
grep -q $'\033' "$work/paged" && fail 'the pager has what a terminal obeys'
wait_for 'The agent begins with T003'
touch "$work/go-T003"
wait_for 'The agent begins with T004'
echo '  it follows a loop that is not its own'
keys q
wait_for 'ended with 0'
check_clean 'quitting'

# expect_end SIGNAL CODE
expect_end() {
  keys "$program ralph tui; echo ended with \$?" Enter
  wait_for 'The agent begins with T004'
  local shell pid
  shell=$(tmux display-message -p -t main '#{pane_pid}')
  pid=$(pgrep -P "$shell" -f 'ralph tui')
  kill -s "$1" "$pid"
  wait_for "ended with $2"
  check_clean "SIG$1"
}
expect_end TERM 143
expect_end HUP 129
expect_end INT 130

# Killed outright it can do nothing; what then mends the terminal is `reset`.
keys "$program ralph tui; echo ended with \$?" Enter
wait_for 'The agent begins with T004'
kill -s KILL "$(pgrep -P "$(tmux display-message -p -t main '#{pane_pid}')" -f 'ralph tui')"
wait_for 'ended with 137'
polls=0
mend() {
  [[ $(tmux display-message -p -t main '#{alternate_on} #{mouse_any_flag} #{cursor_flag}') == '0 0 1' ]] && return
  # With Ctrl-C the shell throws away what was typed meanwhile: the command comes a second later, and again if it was lost.
  case $((polls++ % 200)) in
    0) keys C-c ;;
    20) keys "reset; tput rmcup; stty \$(cat $work/before); clear" Enter ;;
  esac
  return 1
}
wait_until 'reset has mended the terminal' mend
printf '  reset and rmcup mend what kill -9 leaves\n'

echo 'The end of a loop'
has_no_loop && fail 'the loop must still be there'
printf '#!/bin/sh\necho "$1" >%s/browsed\n' "$work" >"$work/browser"
chmod +x "$work/browser"
keys "BROWSER=$work/browser EDITOR='echo >$work/edited' $program ralph tui; echo ended with \$?" Enter
wait_for 'The agent begins with T004'
touch "$work/go-T004" "$work/go-T005"
wait_for 'finished'
wait_for '5/5'
wait_for 'nothing needs you'
# The session is recorded as completed a moment before its loop lets go of the work tree.
wait_until 'the loop has ended' has_no_loop
keys 3 Up R
wait_for 'Restore the files as they were after attempt 5?'
keys y
wait_for 'nothing to do: the work tree is already as it was'
keys r
wait_for 'nothing to resume: the session is completed'
keys 2 G e
wait_until 'the editor is called' test -e "$work/edited"
keys O
wait_until 'the browser is called' test -s "$work/browsed"
echo '  it goes to what needs you at the end, asks before it restores, and opens editor and page'
keys q
wait_for 'ended with 0'
check_clean 'a session that has completed'
cp "$fixtures/tasks.md" "$project/specs/001-greeting/"
rm "$work"/go-* "$work"/at-*
keys "$program ralph --tui --agent-command 'sh agent.sh' -n 3; echo ended with \$?" Enter
wait_for 'The agent begins with T001'
keys q
wait_for 'The loop is still running'
keys n
wait_for 'the loop has ended'
wait_for 'stopped by `stop`'
keys q
wait_for 'ended with 0'
check_clean 'stopping the loop'
# A key resumes it, in a process that stays when the screen goes.
rm "$work/at-T001"
keys "$program ralph tui; echo ended with \$?" Enter
wait_for 'stopped by `stop`'
keys r
wait_for 'Resume this session?'
keys y
wait_until 'the agent works' test -e "$work/at-T001"
wait_for 'The agent begins with T001'
keys q
wait_for 'the loop continues in the background'
wait_for 'ended with 0'
check_clean 'resuming'
has_no_loop && fail 'the resumed loop went with the screen'
(cd "$project" && "$program" ralph stop --now) >/dev/null
wait_until 'the loop has stopped' has_no_loop
echo '  it resumes a session that outlives it'
# The window closes: the screen goes, and the loop stays.
rm "$work/at-T001"
tmux new-window -d -n other -c "$project" "$program ralph --tui --agent-command 'sh agent.sh' -n 3"
wait_until 'the agent works' test -e "$work/at-T001"
pid=$(tmux display-message -p -t other '#{pane_pid}')
tmux kill-window -t other
wait_until 'the screen is gone' is_gone "$pid"
has_no_loop && fail 'the loop went with the window'
echo '  a loop outlives its window'
(cd "$project" && "$program" ralph stop --now) >/dev/null
wait_until 'the loop has stopped' has_no_loop

echo 'Several loops at once'
rm -f "$work"/go-* "$work"/at-*
printf -- '- [ ] T001 [P] One\n- [ ] T002 [P] Two\n' >"$project/specs/001-greeting/tasks.md"
git -C "$project" add .
git -C "$project" -c user.name=t -c user.email=t@localhost commit -qm 'Two at once'
keys "$program ralph --tui -j 2 --agent-command 'sh agent.sh' --validate true --set validation.clean=off; echo ended with \$?" Enter
wait_for '2 at once'
wait_for 'lane 1, live'
wait_until 'both agents work' test -e "$work/at-T001" -a -e "$work/at-T002"
keys Down
wait_for 'lane 2, live'
wait_for 'The agent begins with'
keys s
wait_for 'Stop all 2 loops on this branch?'
keys Escape
wait_for 'hint for T00'
keys q
wait_for 'The loop is still running'
keys Escape
touch "$work/go-T001" "$work/go-T002"
wait_for 'finished'
wait_for '2/2'
wait_for 'the loop has ended'
keys L
wait_for ' 1:1 '
wait_for ' 2:1 '
keys q
wait_for 'ended with 0'
check_clean 'several loops'
echo '  they are one session, from which each is chosen'

echo 'An agent of the user'"'"'s own that prints as a known one does'
cat >>"$project/.specify/ralph.toml" <<END

[agents.mine]
command = "cat >/dev/null; cat $work/stream; while [ ! -e $work/go-mine ]; do sleep 0.05; done"
parser = "claude"
END
cat >"$work/stream" <<'END'
{"type":"assistant","message":{"content":[{"type":"text","text":"I look first."},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"cargo test"}}]}}
END
(cd "$project" && exec "$program" ralph --agent mine -n 1 >/dev/null 2>&1) &
wait_until 'the loop has begun' eval '! has_no_loop'
keys "$program ralph tui; echo ended with \$?" Enter
wait_for 'Bash  cargo test'
touch "$work/go-mine"
wait_until 'the loop has stopped' has_no_loop
wait_for 'stopped'
keys 3 Up o
wait_for 'Bash  cargo test'
picture | grep -qF '"type"' && fail 'it shows JSON'
keys q
wait_for 'ended with 0'
check_clean 'what an agent printed'

echo 'The line that moves'
cat >"$project/slow.sh" <<END
cat >/dev/null
echo "a long line of words that fills the row from one end of the window to the other and more"
while [ ! -e "$work/go-slow" ]; do sleep 0.05; done
END
tmux resize-window -t main -x 80 -y 30
keys "$program ralph -n 1 --agent-command 'sh slow.sh'; echo ended with \$?" Enter
wait_for 'a long line of words'
for columns in 50 35; do
  tmux resize-window -t main -x "$columns" -y 30
  # Two frames later nothing is left of those before.
  sleep 0.5
  wait_until "there is one line at $columns columns" one_line
done
touch "$work/go-slow"
wait_for 'ended with 4'
tmux resize-window -t main -x 100 -y 30
picture | grep -qE ' T001 [0-9]+ (s|min)' && fail 'something is left of the line that moves'
echo '  nothing is left of it in a window that becomes narrower'

echo 'The keys of the loop in its own terminal'
rm "$work/go-slow"
keys "$program ralph -n 2 --agent-command 'sh slow.sh'; echo ended with \$?" Enter
wait_for 's stop · h hint'
keys h 'use the fakes'
wait_for 'hint: use the fakes▌'
keys BSpace Enter
wait_for 'hint for the next prompt arrived: use the fake'
keys C-z
wait_for 'Stopped'
keys "stty -g > $work/stopped; fg" Enter
wait_for 's stop · h hint'
cmp "$work/before" "$work/stopped" || fail 'Ctrl-Z: the settings of the terminal differ'
keys s
wait_for 'stop requested: the session ends after this attempt'
touch "$work/go-slow"
# What is typed before it is gone is its own.
prompt_is_back() { picture | grep -v '^ *$' | tail -n 1 | grep -qE '^ready> *$'; }
wait_until 'the prompt is back' prompt_is_back
check_clean 'stopping with a key'
rm "$work/go-slow"
keys "$program ralph -n 2 --agent-command 'sh slow.sh'; echo ended with \$?" Enter
wait_for 's stop · h hint'
keys C-c
wait_for 'ended with 130'
check_clean 'Ctrl-C'
# Killed outright it can do nothing; bash takes its terminal back.
keys "$program ralph -n 2 --agent-command 'sh slow.sh'; echo ended with \$?" Enter
wait_for 's stop · h hint'
kill -s KILL "$(pgrep -P "$(tmux display-message -p -t main '#{pane_pid}')" -f 'ralph -n 2')"
wait_for 'ended with 137'
check_clean 'SIGKILL'
touch "$work/go-slow"

echo 'What cannot be drawn on'
code=0
said=$(cd "$project" && "$program" ralph tui 2>&1 </dev/null | cat; exit "${PIPESTATUS[0]}") || code=$?
[[ $code == 3 && $said == *'ralph log'* ]] || fail "exit $code: $said"
[[ $(git -C "$project" status --porcelain -- agent.sh check.sh) == '' ]] || fail 'files were changed'
echo 'All is well.'
