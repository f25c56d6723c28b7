#!/bin/sh
# Works on one share of a repository, wherever a scheduler starts it, and goes on where an earlier start ended: docs/machines.md.
#
#   worker.sh ADDRESS SHARES INDEX [WORDS FOR RUN...]
#
# ADDRESS is that of the repository. SHARES is a file with a share a line, a name and words for `run`; INDEX counts them from 0:
#
#   login --feature 001-login
#   cart --feature 002-shop --story US1
#
# The share `cart` is worked on in a lane, on the branch ralph/cart. Branch and records are pushed after each attempt and at the end;
# no push is ever forced. The clone is in $RALPH_MACHINES, else in a folder for temporary files: it may be gone at the next start.
#
# Exit codes are those of `specify-ralph run`. To be started again: 75 (the server was not reached, or another runner pushes the same
# share), 143 (stopped by a signal), and whatever ends by SIGKILL. All others need a person.
set -u

RETRY=75
PROGRAM=${SPECIFY_RALPH:-specify-ralph}
# Records go to the address that was given: that is what this script is for.
export SPECKIT_RALPH_SYNC_CONFIRMED=true
export GIT_TERMINAL_PROMPT=0
# A server that does not answer any more is given up.
export GIT_HTTP_LOW_SPEED_LIMIT=1 GIT_HTTP_LOW_SPEED_TIME=90

say() { printf 'worker: %s\n' "$*" >&2; }
give_up() {
  code=$1
  shift
  say "$*"
  exit "$code"
}
has() { git rev-parse --quiet --verify "$1^{commit}" >/dev/null; }

# The server's branch is in ours, or it has none.
is_ours() { ! has "$there" || git merge-base --is-ancestor "$there" "$here"; }

# Pushes branch and records. Fails if one of both did not arrive.
publish() {
  pushed=0
  if has "$here"; then
    git push --quiet origin "$here:$here" || pushed=1
  fi
  # Notes on commits are one ref of all runners: what others wrote comes here before ours goes there.
  "$PROGRAM" sync origin >/dev/null || pushed=1
  return "$pushed"
}

# What `hooks.on-event` runs after each attempt, beside the loop, in the clone. Where another runner took the branch, it says so to ours.
if [ "${1-}" = --publish ]; then
  here=refs/heads/$2 there=refs/remotes/origin/$2
  publish && exit 0
  git fetch --quiet origin && ! is_ours && kill -USR1 "$3"
  exit 0
fi

[ $# -ge 3 ] || give_up 2 'usage: worker.sh ADDRESS SHARES INDEX [WORDS FOR RUN...]'
address=$1 shares=$2 index=$3
shift 3
case $index in '' | *[!0-9]*) give_up 2 "the index $index is no number" ;; esac
command -v "$PROGRAM" >/dev/null || give_up 3 "there is no program $PROGRAM"
share=$(grep -v -e '^[[:space:]]*#' -e '^[[:space:]]*$' "$shares" | sed -n "$((index + 1))p")
[ -n "$share" ] || give_up 2 "$shares has no share $index"
case $0 in /*) RALPH_WORKER=$0 ;; *) RALPH_WORKER=$PWD/$0 ;; esac
export RALPH_WORKER
# Words of the share are split at blanks, and no pattern among them is looked for.
set -f
name=${share%%[[:space:]]*} words=${share#"${share%%[[:space:]]*}"}
branch=ralph/$name
here=refs/heads/$branch there=refs/remotes/origin/$branch
git check-ref-format "$here" || give_up 2 "$shares: $branch cannot be a branch"

# 1. A clone, whole or not at all. A signal before the loop ends the script: as the first process of a container it would get none.
begun=
trap '[ -z "$begun" ] || rm -rf "$begun"; exit 143' TERM INT HUP
folder=${RALPH_MACHINES:-${TMPDIR:-/tmp}/ralph-machines}/$name
clone() {
  mkdir -p "${folder%/*}"
  begun=$(mktemp -d "$folder.XXXXXX") || give_up 1 "no folder for a clone beside $folder"
  if ! git clone --quiet "$address" "$begun" || ! git -C "$begun" config machines.clone-of "$address"; then
    rm -rf "$begun"
    give_up "$RETRY" "cannot clone $address"
  fi
  { [ ! -d "$folder" ] && mv "$begun" "$folder"; } || give_up "$RETRY" "another runner made $folder"
  begun=
}
[ -d "$folder" ] || clone
[ "$(git -C "$folder" config machines.clone-of)" = "$address" ] || give_up 3 "$folder is no clone of worker.sh's of $address"
if ! git -C "$folder" fetch --quiet --prune origin; then
  git ls-remote "$address" HEAD >/dev/null || give_up "$RETRY" "cannot fetch from $address"
  # A git that was killed left a lock, or worse: what was not pushed goes to the server, and another clone goes on.
  git -C "$folder" push --quiet origin "$here:$here" || say "what $folder has of $branch is not at the server"
  mv "$folder" "$folder.broken.$$" && say "$folder.broken.$$ cannot be used: another clone takes its place"
  clone
fi
cd "$folder" || exit 1
# No work is in these files: it is in the lane.
rm -f .git/index.lock
git reset --quiet --hard '@{upstream}' || give_up "$RETRY" "$folder cannot be used"

# 2. The branch as the server has it. What was not pushed stays; if the server has other commits, it goes aside, there too.
aside() {
  kept=ralph-aside/$name-$(git rev-parse --short=12 "$here")
  git push --quiet origin "$here:refs/heads/$kept" || give_up "$RETRY" "cannot push $kept"
  git branch --quiet --no-track --force "$branch" "$there" || give_up "$RETRY" "cannot take $branch"
  say "another runner pushed other commits to $branch: what was done here is on $kept"
}
if has "$there" && ! has "$here"; then
  git branch --quiet --no-track "$branch" "$there" || give_up "$RETRY" "cannot take $branch"
elif has "$there" && git merge-base --is-ancestor "$here" "$there"; then
  git fetch --quiet . "$there:$here" || give_up "$RETRY" "cannot take $branch"
elif has "$here" && ! is_ours; then
  aside
fi

# After a squash the target has what the branch changed, by other commits, and `run` begins the branch there again. With its old commits
# behind it the server takes it without force.
is_squashed() {
  git log --first-parent --max-count=50 --format='%H %T' "$there..HEAD" | {
    while read -r commit tree; do
      [ "$(git merge-tree --write-tree --no-messages "$commit" "$there" 2>/dev/null)" != "$tree" ] || exit 0
    done
    exit 1
  }
}
if has "$there" && [ "$(git rev-parse "$here")" = "$(git rev-parse "$there")" ] &&
  ! git merge-base --is-ancestor "$there" HEAD && is_squashed; then
  git update-ref "$here" "$(git commit-tree -p HEAD -p "$there" -m "Merge $branch, which was squashed" 'HEAD^{tree}')"
fi

# 3. The records of the others and of earlier starts. Without them the work goes on all the same.
"$PROGRAM" sync --fetch-only origin >/dev/null || say 'not all records were fetched'

# 4. The loop. A signal for this script is one for the loop, which records what it was doing.
# shellcheck disable=SC2086
"$PROGRAM" run --lane --branch "$branch" \
  --set "hooks.on-event=sh \"\$RALPH_WORKER\" --publish '$branch' $$" --set hooks.events=iteration_recorded $words "$@" </dev/null &
loop=$!
trap 'kill -TERM "$loop" 2>/dev/null' TERM INT HUP
trap '"$PROGRAM" stop' USR1
wait "$loop"
code=$?
while kill -0 "$loop" 2>/dev/null; do
  wait "$loop"
  code=$?
done

# 5. What is left to be pushed, whatever ended the loop. From here on only SIGKILL ends this script.
trap '' TERM INT HUP USR1
publish && exit "$code"
git fetch --quiet origin && ! is_ours && aside
give_up "$RETRY" "not all was pushed to $address: the next start does"
