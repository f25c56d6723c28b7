#!/usr/bin/env bash
# Runs the built tests in surroundings that are unlike a developer's terminal.
#
# usage: tests/anywhere.sh [--only NAME]... [--list] [-- TEST...]
#        tests/anywhere.sh --start COMMAND...
#        tests/anywhere.sh --in NAME COMMAND...
#
#   --start       run COMMAND once as a job in the background, with a hostile configuration of git
#   --in NAME     run COMMAND once in this surrounding, from the current folder
#   --only NAME   this surrounding; can be repeated (default: all but `blanks`)
#   --list        print the names of the surroundings
#   TEST...       parts of the names of tests (default: all tests)
#
# It builds the tests once, and then starts the same binaries again and again. `blanks` clones the project to a folder
# below /tmp with blanks in its path and builds it there, which takes minutes.
set -euo pipefail

all=(background terminal locale home git-config git-hook variables umask-077 umask-000 user tools leap-day new-year summer-time one-core load)
chosen=()
start=()
surrounding=
while (($# > 0)); do
  case $1 in
    --list) printf '%s\n' "${all[@]}" blanks; exit ;;
    --only) chosen+=("${2:?--only takes the name of a surrounding}"); shift 2 ;;
    --start) shift; start=("$@"); set --; break ;;
    --in) surrounding=${2:?--in takes the name of a surrounding}; shift 2; start=("$@"); set --; break ;;
    --) shift; break ;;
    *) echo "anywhere.sh: unknown argument \`$1\`" >&2; exit 2 ;;
  esac
done
((${#chosen[@]} > 0)) || chosen=("${all[@]}")

# How a surrounding ends that cannot be had on this machine.
left_out=77
work=$(mktemp -d "${TMPDIR:-/tmp}/ralph-anywhere-XXXXXX")
helpers=()
clean_up() {
  ((${#helpers[@]} == 0)) || kill "${helpers[@]}" 2>/dev/null || true
  chmod -R u+rwX "$work"
  rm -rf "$work"
}
trap clean_up EXIT

# What a user may have in their configuration of git, at its worst.
hostile_git_config() {
  cat <<'END'
[user]
	name = Somebody Else
	email = else@example.org
[commit]
	gpgSign = true
	template = /nowhere/template
	verbose = true
[tag]
	gpgSign = true
[gpg]
	program = /bin/false
[init]
	defaultBranch = weird/trunk
	templateDir = /nowhere
[core]
	hooksPath = /nowhere/hooks
	autocrlf = true
	safecrlf = true
	fsmonitor = /bin/false
	editor = /bin/false
	pager = /bin/false
	quotePath = false
	abbrev = 40
	excludesFile = /nowhere/ignore
	attributesFile = /nowhere/attributes
[color]
	ui = always
[alias]
	commit = "!false"
	log = "!false"
	ralph = "!false"
[safe]
	directory = ""
[url "file:///nowhere/"]
	insteadOf = https://
[log]
	showSignature = true
	decorate = full
	date = relative
[status]
	short = true
	showUntrackedFiles = no
[diff]
	external = /bin/false
	noprefix = true
	mnemonicPrefix = true
[push]
	default = nothing
	gpgSign = if-asked
[fetch]
	prune = true
[merge]
	ff = only
[pull]
	rebase = true
[gc]
	auto = 1
[protocol]
	allow = never
[credential]
	helper = "!false"
END
}

# in_NAME COMMAND...: each runs the command in its surrounding.
in_background() { bash -c 'trap "" INT QUIT HUP; exec "$@"' bash "$@" </dev/null; }
in_terminal() { setsid --wait env -u TERM -u COLUMNS "$@" <&- 2>&1 | cat; }
in_locale() { env LC_ALL=tr_TR.UTF-8 LANG=tr_TR.UTF-8 LANGUAGE=tr:de TZ=Pacific/Chatham "$@"; }
in_home() {
  local home="$work/an odd \$home" bound=()
  mkdir -p "$home"
  chmod a-w "$home"
  # Nothing is read-only for root, but for a root without these.
  [[ $(id -u) != 0 ]] || bound=(setpriv --bounding-set=-dac_override,-dac_read_search)
  env -u XDG_CONFIG_HOME HOME="$home" "${bound[@]}" "$@"
}
in_git-config() {
  hostile_git_config >"$work/gitconfig"
  env GIT_CONFIG_GLOBAL="$work/gitconfig" "$@"
}
# As a hook of a commit in another repository has it.
in_git-hook() {
  git init --quiet "$work/other"
  env GIT_DIR="$work/other/.git" GIT_WORK_TREE="$work/other" GIT_INDEX_FILE="$work/other/.git/index.lock" GIT_PREFIX=sub/ \
    GIT_OBJECT_DIRECTORY="$work/other/.git/objects" GIT_AUTHOR_NAME=Other GIT_AUTHOR_EMAIL=other@example.org \
    GIT_AUTHOR_DATE='@1000000000 +0545' GIT_COMMITTER_DATE='@1000000000 +0545' GIT_EDITOR=: GIT_REFLOG_ACTION=rebase \
    GIT_CONFIG_PARAMETERS="'core.bare'='true'" GIT_EXTERNAL_DIFF=/bin/false GIT_TRACE=1 GIT_PAGER=/bin/false \
    GIT_NAMESPACE=other GIT_LITERAL_PATHSPECS=1 "$@"
}
in_variables() {
  env CDPATH=/usr:/etc GREP_OPTIONS=--color=always GREP_COLORS='mt=01' POSIXLY_CORRECT=1 NO_COLOR=1 CLICOLOR_FORCE=1 COLUMNS=20 \
    RALPH_SESSION=20200101-000000-00000000 RALPH_ITERATION=3 RALPH_TASK=T009 RALPH_STATUS=completed SPECIFY_FEATURE=999-other \
    SPECIFY_INIT_DIR=/nowhere SPECKIT_RALPH_MAX_ITERATIONS=0 SPECKIT_RALPH_TIMEOUT=never SPECKIT_RALPH_AGENT=other \
    ENV=/nowhere BASH_ENV=/nowhere EDITOR=/bin/false PAGER=/bin/false LESS=-X "$@"
}
in_umask-077() { (umask 077; "$@"); }
in_umask-000() { (umask 000; "$@"); }
# As root where we are a user is left out: nothing here may ask for more rights than it has.
in_user() {
  if [[ $(id -u) != 0 ]]; then
    echo 'left out: only root can become another user'
    return "$left_out"
  fi
  mkdir -p "$work/user"
  chown nobody "$work" "$work/user"
  env HOME="$work/user" TMPDIR="$work/user" setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
}
# Without the programs that only some scenes use.
in_tools() {
  local folder program folders
  IFS=: read -ra folders <<<"$PATH"
  mkdir -p "$work/programs"
  for folder in "${folders[@]}"; do
    for program in "$folder"/*; do
      case ${program##*/} in
        bwrap | srt | strace | gh | gpg* | ssh* | python* | node | npm | npx | jq | curl | wget | tmux | chromium* | faketime | rg | fd | ps | pgrep | pkill) ;;
        *) [[ ! -x $program || -e $work/programs/${program##*/} ]] || ln -s "$(realpath "$program")" "$work/programs/${program##*/}" ;;
      esac
    done
  done
  env PATH="$work/programs" "$@"
}
# on_day TIME COMMAND...: the clock of the machine is behind, and goes on. It is so in each process for itself. Files have the
# times of the kernel, so a clock that is ahead would make each of them old.
on_day() {
  local ahead=$(($(date -d "$1" +%s) - $(date +%s))) library
  shift
  # Its program `faketime` fails where one with the same process id was killed before: what that one shared is still there.
  library=$(find /usr/lib /usr/local /opt -name libfaketimeMT.so.1 -print -quit 2>/dev/null || true)
  if [[ -z $library ]]; then
    echo 'left out: libfaketime is not installed'
    return "$left_out"
  fi
  env LD_PRELOAD="$library" FAKETIME="$ahead" FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 "$@"
}
# On another day of the week than today's.
in_leap-day() { on_day "$([[ $(date +%u) == 4 ]] && echo 2020-02-29 || echo 2024-02-29) 12:00 UTC" "$@"; }
in_new-year() { TZ=America/New_York on_day '2024-01-01 04:59:50 UTC' "$@"; }
in_summer-time() { TZ=Europe/Berlin on_day '2024-03-31 00:59:50 UTC' "$@"; }
in_one-core() { taskset -c 0 "$@"; }
in_load() {
  local core
  for core in $(seq "$((2 * $(nproc)))"); do
    while :; do :; done &
    helpers+=($!)
  done
  local status=0
  "$@" || status=$?
  kill "${helpers[@]}"
  helpers=()
  return "$status"
}
in_blanks() {
  local clone="$work/a b/c 'd"
  git clone --quiet --no-local . "$clone"
  (cd "$clone" && CARGO_TARGET_DIR="$work/a b/target" && export CARGO_TARGET_DIR && cargo test --lib --test integration -- "${tests[@]}")
}

if [[ -n $surrounding ]]; then
  "in_$surrounding" "${start[@]}"
  exit
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ((${#start[@]} > 0)); then
  hostile_git_config >"$work/gitconfig"
  export GIT_CONFIG_GLOBAL=$work/gitconfig
  in_background "${start[@]}"
  exit
fi

# The tests of the library and those of the programs. With `--package`, the dependencies would be built once more, with the features that
# this one package needs.
built() {
  cargo test --no-run --lib --test integration 2>&1 | sed -nE 's#^  Executable .*\((.*/(specify_ralph|integration)-[0-9a-f]+)\)$#\1#p'
}
mapfile -t binaries < <(built)
[[ ${#binaries[@]} == 2 ]] || { echo 'anywhere.sh: the tests do not build: cargo test --no-run' >&2; exit 1; }

tests=("$@")
failed=()
for name in "${chosen[@]}"; do
  declare -F "in_$name" >/dev/null || { echo "anywhere.sh: there is no surrounding \`$name\`" >&2; exit 2; }
  printf '\n==> %s\n' "$name"
  for binary in "${binaries[@]}"; do
    log="$work/$name.log"
    status=0
    "in_$name" "$PWD/${binary#"$PWD/"}" "${tests[@]}" >"$log" 2>&1 || status=$?
    grep -E '^test result|FAILED$|^left out' "$log" || tail -20 "$log"
    if ((status != 0 && status != left_out)); then
      failed+=("$name")
      grep -A12 "^thread '.*panicked" "$log" | head -200 || true
    fi
    [[ $name != blanks ]] || break
  done
done
if ((${#failed[@]} > 0)); then
  printf '\nFAILED: %s\n' "${failed[*]}" >&2
  exit 1
fi
