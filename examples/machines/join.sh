#!/bin/sh
# Merges the branches of all shares, one after the other, and pushes each merge that holds: docs/machines.md.
#
#   join.sh ADDRESS SHARES [WORDS FOR VERIFY...]
#
# They go to the branch that the server checks out by default; $RALPH_TARGET names another. A merge that `verify` refuses, or
# that git cannot make, is named and left out, and the next branch is tried without it. No push is ever forced.
#
# Exit code: 0 if all that is there is merged, 5 if something is left out, 75 if the server was not reached (start it again).
set -u

RETRY=75
PROGRAM=${SPECIFY_RALPH:-specify-ralph}
export GIT_TERMINAL_PROMPT=0

say() { printf 'join: %s\n' "$*" >&2; }
give_up() {
  code=$1
  shift
  say "$*"
  exit "$code"
}

# A merge driver for task lists. Each branch ticks other lines, and git calls lines that touch each other a conflict: so git merges
# the lists without their marks, and then a task has the mark that one side gave it.
if [ "${1-}" = --merge-lists ]; then
  base=$2 ours=$3 theirs=$4
  for list in "$base" "$ours" "$theirs"; do
    sed 's/^\([[:space:]]*[-*+] \)\[[xX]\]/\1[ ]/' "$list" >"$list.open"
  done
  git merge-file --quiet "$ours.open" "$base.open" "$theirs.open" || exit 1
  awk '
    # The word behind the box names the task.
    match($0, /^[ \t]*[-*+] \[[ xX]\] [^ \t]+/) {
      id = substr($0, RSTART, RLENGTH); done = id ~ /\[[xX]\]/; sub(/.*\] /, "", id)
      if (FILENAME != ARGV[4]) ticked[FILENAME, id] = done
      else {
        was = ticked[ARGV[1], id]; ours = ticked[ARGV[2], id]; theirs = ticked[ARGV[3], id]
        if (was ? ours && theirs : ours || theirs) sub(/\[ \]/, "[x]")
      }
    }
    FILENAME == ARGV[4] { print }' "$base" "$ours" "$theirs" "$ours.open" >"$ours.merged"
  mv "$ours.merged" "$ours"
  rm -f "$base.open" "$ours.open" "$theirs.open"
  exit
fi

[ $# -ge 2 ] || give_up 2 'usage: join.sh ADDRESS SHARES [WORDS FOR VERIFY...]'
address=$1 shares=$2
shift 2
case $0 in /*) RALPH_JOIN=$0 ;; *) RALPH_JOIN=$PWD/$0 ;; esac
export RALPH_JOIN
names=$(grep -v -e '^[[:space:]]*#' -e '^[[:space:]]*$' "$shares" | sed 's/[[:space:]].*//') || give_up 2 "$shares has no share"

command -v "$PROGRAM" >/dev/null || give_up 3 "there is no program $PROGRAM"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit "$RETRY"' TERM INT HUP
git clone --quiet "$address" "$folder/clone" || give_up "$RETRY" "cannot clone $address"
cd "$folder/clone" || exit 1
target=${RALPH_TARGET:-$(git branch --show-current)}
git checkout --quiet --detach "origin/$target" || give_up 2 "$address has no branch $target"
# shellcheck disable=SC2016
git config merge.ralph-lists.driver 'sh "$RALPH_JOIN" --merge-lists %O %A %B'
echo 'specs/**/tasks.md merge=ralph-lists' >.git/info/attributes

# Merges one branch into the target as it is now. Fails if it does not hold.
merge() {
  branch=$1
  shift
  git checkout --quiet --detach "origin/$target"
  if ! git merge --quiet --no-ff --no-edit -m "Merge $branch" "origin/$branch"; then
    say "$branch: git cannot merge it into $target"
    git merge --abort 2>/dev/null
    return 1
  fi
  git branch --quiet --force joined HEAD
  # It judges the merge as it will be pushed: its tests, those of before, and what decides what runs.
  "$PROGRAM" verify "origin/$target..joined" --set "lanes.dir=$folder/lanes" "$@"
}

left=
for name in $names; do
  branch=ralph/$name
  if ! git rev-parse --quiet --verify "origin/$branch" >/dev/null; then
    say "$branch is not there yet"
    left="$left $branch"
    continue
  fi
  while ! git merge-base --is-ancestor "origin/$branch" "origin/$target"; do
    merge "$branch" "$@" || { left="$left $branch" && break; }
    if git push --quiet origin "joined:refs/heads/$target"; then
      say "$branch is merged into $target"
      break
    fi
    # Where others pushed meanwhile, the merge is made and judged anew.
    before=$(git rev-parse "origin/$target")
    git fetch --quiet origin || give_up "$RETRY" "cannot fetch from $address"
    [ "$before" != "$(git rev-parse "origin/$target")" ] || give_up "$RETRY" "cannot push to $target of $address"
  done
done
[ -z "$left" ] || give_up 5 "not merged:$left"
