#!/usr/bin/env bash
# Runs the demo and writes what it prints into docs/demo.md, between the two lines that name this script.
#
# usage: docs/record-demo.sh
#
# The demo makes its project in /tmp/ralph-demo, which must not be there yet and is removed at the end. Nothing in
# the output is edited. `cargo test docs` says when the recording is out of date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
page=$PWD/docs/demo.md
project=/tmp/ralph-demo

[[ ! -e $project ]] || { echo "record-demo.sh: $project exists already" >&2; exit 1; }
cargo build --quiet --release
PATH=$PWD/target/release:$PATH
recording=$(mktemp)
trap 'rm -rf "$project" "$recording"' EXIT

show() {
  printf '$ %s\n' "$*"
  "$@"
}
{
  show specify ralph demo --dir "$project"
  cd "$project"
  echo
  show specify ralph log --task T002
  echo
  show specify ralph show 3 --stdout
  echo
  show specify ralph fsck
} >"$recording" </dev/null

awk -v recording="$recording" '
  /^<!-- end of the recording/ { inside = 0 }
  !inside { print }
  /^<!-- recorded by/ {
    inside = 1
    print "\n```text"
    while ((getline line < recording) > 0) print line
    print "```\n"
  }
' "$page" >"$recording.page"
cat "$recording.page" >"$page"
rm "$recording.page"
