#!/bin/sh
# Hands its arguments to `specify ralph`, whatever the order of the programs called `specify` on the PATH is.
#
# usage: sh ralph.sh run|status|log [FLAG]...
set -eu

case ${1-} in
  run | status | log) ;;
  *)
    echo "ralph.sh: \`${1-}\` is none of run, status, log" >&2
    exit 2
    ;;
esac

if command -v git-ralph >/dev/null 2>&1; then
  exec git-ralph "$@"
fi
# Spec-kit's own `specify` has no sub-command of that name.
case $(specify ralph --version 2>/dev/null </dev/null || :) in
  specify-ralph\ *) exec specify ralph "$@" ;;
esac
echo 'ralph.sh: neither git-ralph nor a `specify` that knows `ralph` is on the PATH' >&2
echo 'hint: install specify-ralph: cargo install --path . in its source' >&2
exit 3
