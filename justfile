# What is done in this project, by name.

# List the recipes
default:
    @just --list

# Format the code
fmt:
    cargo fmt

# Check formatting and lints
lint:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    cargo clippy --all-targets --manifest-path fuzz/Cargo.toml --target-dir target -- -D warnings

# Look at a change in some minutes: format, lints, unit tests of what it touches, ten scenes; `just quick HEAD~3`
quick *revision:
    python3 -B scripts/quick.py {{revision}}

# Run the tests: `just test store` for some of them
test *args:
    cargo test {{args}}

# Run the tests in surroundings unlike this terminal: `just test-anywhere --list`, `just test-anywhere --only home -- stop::`
test-anywhere *args:
    bash tests/anywhere.sh {{args}}

# Try the screen in tmux
test-screen:
    cargo build
    bash tests/tui.sh

# Watch the real loop work on a throw-away project
demo *args:
    cargo run --release -- ralph demo {{args}}

# Try every command that any scene of the tests prints, in the state in which it is printed
hints *args:
    RALPH_TEST_HINTS=1 cargo test --test integration {{args}}

# Kill the loop at random moments, with git at work beside it; a failure says how to repeat it
soak kills="2000":
    RALPH_SOAK_KILLS={{kills}} cargo test --test soak -- --nocapture

# Kill the program before each of its writes, also in the scenes that are too slow for CI
kill-points *args:
    RALPH_ALL_KILL_POINTS=1 cargo test --test kill-points -- --nocapture --include-ignored {{args}}

# Run whole loops with real agents from npm, against a scripted model: `just test-agents --agent codex --scene hang`
test-agents *args:
    cargo build --release --locked
    python3 -B tests/real/run.py {{args}}

# Play whole stories with spec-kit from PyPI and our extension in it: `just test-spec-kit --version 1.2.3 --integration codex`
test-spec-kit *args:
    cargo build --release --locked
    python3 -B tests/spec-kit/run.py {{args}}

# Play first nights as README has them, in projects of spec-kit's: `just first-night --all`, `just first-night node-lane-1.2.3`
first-night *args:
    cargo build --release --locked
    python3 -B tests/spec-kit/first_night.py {{args}}

# Look at the page of `report` in a real browser: `just test-page --keep target/page` keeps pages and pictures
test-page *args:
    cargo build --release --locked
    node tests/page/run.mjs {{args}}

# Build the documents as a book into target/book, and check its links (cargo install mdbook)
book:
    mdbook build docs
    python3 -B scripts/check-book.py target/book

# Measure what we promise: `just bench --large`, `just bench log`
bench *args:
    cargo bench --bench numbers -- {{args}}

# Measure what the memory of the loop is worth, against none and a blind tail: `just memory --missing final-message`
memory *args:
    cargo build --locked
    python3 -B scripts/memory/run.py {{args}}

# Measure how many tokens the parts of a prompt take
prompt-sizes *args:
    cargo build --locked
    python3 -B scripts/memory/sizes.py {{args}}

# Record a night of 50 iterations with failures, a limit, a kill and a question, to look at the screens: `just night /tmp/night`
night dir:
    cargo build
    python3 -B scripts/night/make.py {{dir}}

# Make pictures of every screen from such a night into docs/screens; needs tmux, chromium and npm: `just pictures /tmp/pictures`
pictures dir:
    cargo build
    python3 -B scripts/pictures/make.py {{dir}}

# Play nights of unattended work with scripted agents, crashes, limits and people: `just nights --show breaking`
nights *args:
    cargo build --locked
    python3 -B scripts/nights/run.py {{args}}

# Score excerpts, fingerprints and neighbours on recorded outputs: `just excerpts --tools --misses`, `just excerpts --accept`
excerpts *args:
    cargo build --release --locked
    python3 -B fixtures/failures/score.py {{args}}

# Record the outputs of a tool again from its projects in fixtures/failures/: `just record-excerpts pytest`
record-excerpts *names:
    python3 -B fixtures/failures/record.py {{names}}

# Count the code lines of each room and crate, and what each has grown since a revision: `just size origin/main`
size *revision:
    python3 -B scripts/size.py {{revision}}

# Build for other systems and run what runs here: static Linux on two processors, macOS and Windows linked; `just check-targets aarch64-apple-darwin`
check-targets *targets:
    scripts/targets.sh {{targets}}

# Build the packages of this system into target/packages, then install, use and remove each (deb, rpm and image as root)
packages *kinds:
    python3 -B scripts/packages/build.py
    python3 -B scripts/packages/check.py {{kinds}}

# Make a release, up to the upload: `just release 0.2.0 --dry-run` changes nothing here
release *args:
    python3 -B scripts/release.py {{args}}

# Fuzz all targets for a while: `just fuzz --seconds 600`, `just fuzz --inputs 5000000 tasks`
fuzz *args='--inputs 1000000':
    cargo run --release --manifest-path fuzz/Cargo.toml --bin smoke -- {{args}}

# Fuzz one target with libFuzzer, which needs `cargo install cargo-fuzz`: `just libfuzzer config`
libfuzzer target *args:
    mkdir -p fuzz/corpus/{{target}}
    RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none --features libfuzzer {{target}} fuzz/corpus/{{target}} fuzz/seeds/{{target}} -- {{args}}

# Run what every change must pass
ci:
    .ci/run

# Run what takes long besides: before a release, and before a change to its subject is called done
ci-long:
    .ci/long
