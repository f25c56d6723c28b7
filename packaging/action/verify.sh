#!/bin/sh
# Judges the pull request whose merge is checked out, and writes what was found to the summary of the job.
set -eu

if ! head=$(git rev-parse --verify --quiet 'HEAD^2^{commit}'); then
  echo 'HEAD is no merge of a pull request: on pull_request, actions/checkout with fetch-depth: 0 checks one out' >&2
  exit 3
fi
# Its first parent is the target as it is now; the sender chooses the second alone.
target=$(git rev-parse --verify 'HEAD^1^{commit}')

set -- verify "$target..$head" --markdown
[ -z "${RALPH_VALIDATE:-}" ] || set -- "$@" --validate "$RALPH_VALIDATE"
[ -z "${RALPH_SETUP:-}" ] || set -- "$@" --set "lanes.setup=$RALPH_SETUP"
[ "${RALPH_PROVE:-false}" != true ] || set -- "$@" --prove
[ "${RALPH_COMMITS:-false}" != true ] || set -- "$@" --commits
[ "${RALPH_FAIL_ON_FLAGS:-false}" != true ] || set -- "$@" --fail-on-flags
for code in ${RALPH_ALLOW:-}; do
  set -- "$@" --allow "$code"
done
# Without a sandbox nothing runs, unless that is said.
if [ "${RALPH_SANDBOX:-true}" = true ]; then
  set -- "$@" --trust --set sandbox.mechanism=auto
else
  set -- "$@" --yes --no-sandbox
fi

found=$(mktemp)
trap 'rm -f "$found"' EXIT
code=0
"${RALPH_PROGRAM:-specify-ralph}" "$@" > "$found" || code=$?
cat "$found" >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}"
exit "$code"
