#!/usr/bin/env bash
# Runs the demo, opens `specify ralph tui` on it in tmux, and draws what is on the screen into docs/screen.svg.
#
# usage: docs/record-screen.sh
#
# The demo makes its project in /tmp/ralph-demo, which must not be there yet and is removed at the end. Nothing in
# the picture is edited.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
project=/tmp/ralph-demo
socket=ralph-picture-$$

[[ ! -e $project ]] || { echo "record-screen.sh: $project exists already" >&2; exit 1; }
cargo build --quiet --release
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$project"' EXIT
target/release/specify ralph demo --dir "$project" >/dev/null

tmux() { command tmux -L "$socket" -f /dev/null "$@"; }
shown() { tmux capture-pane -p | grep -qF -- "$1"; }
# wait_until COMMAND...
wait_until() {
  local deadline=$((SECONDS + 20))
  until "$@"; do
    ((SECONDS < deadline)) || { echo "record-screen.sh: waited in vain until: $*" >&2; exit 1; }
    sleep 0.05
  done
}
is_read() { ! shown 'reading …'; }

tmux new-session -d -x 108 -y 30 -c "$project" "TERM=screen-256color $root/target/release/specify ralph tui"
wait_until shown 'files changed'
# Up to the third iteration, which failed.
for _ in {1..9}; do tmux send-keys j; done
wait_until shown 'Iteration 3'
wait_until shown 'FAILED count'
wait_until is_read
tmux capture-pane -e -p | python3 -B scripts/pictures/draw.py dark 'The screen of specify ralph tui' >docs/screen.svg
tmux send-keys q
