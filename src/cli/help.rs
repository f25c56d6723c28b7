//! The longer texts of the help.

use ralph_ui::tui::KEY_HELP;

pub(super) const RALPH: &str = "\
Examples:
  specify ralph                           Run the loop on the feature of this branch
  specify ralph -n 20 --validate 'npm test'
  specify ralph --agent-command 'sh agent.sh' --tasks PLAN.md
  specify ralph --dry-run                 Print the prompt that the next task would get
  specify ralph hint 'use the parser'     Add a hint to the next prompt
  specify ralph stop                      Stop it after its iteration
  specify ralph log --failed              List the iterations that failed
  specify ralph show 3 --stdout           Print the validation's output in iteration 3
  git log --glob='refs/ralph/*' --oneline

Environment variables:
  SPECKIT_RALPH_<KEY>           Any setting: SPECKIT_RALPH_MAX_ITERATIONS for max-iterations
  SPECIFY_FEATURE_DIRECTORY     Feature directory, without --feature
  SPECIFY_INIT_DIR              Folder of the project, whatever the current folder
  NO_COLOR                      No colours, without --color
  Children get RALPH_SESSION, RALPH_ITERATION, RALPH_TASK, RALPH_ATTEMPT, RALPH_FEATURE, RALPH_TASKS,
  RALPH_PROGRESS

Settings: .specify/ralph.toml < git config ralph.* < environment < flags; `specify ralph config --all` shows them

Exit codes:
  0 done    1 failed    2 wrong usage    3 cannot start
  4 a limit    5 stuck    6 the agent or the validation cannot be used
  130, 143, 129 ended by Ctrl-C, SIGTERM, SIGHUP, with the running iteration recorded

Also: `tasks`, `shim`, `man`, `purge`, `rebuild`, each with its --help";

pub(super) const ACCEPT: &str = "\
Example:
  specify ralph accept T004               T004 was refused or given up: bring its changes back,
                                          validate, and tick its box
  specify ralph accept T007               T007 is done and flagged: that is right so
  specify ralph accept --undo T004        Take that back

Where a task was undone, or sent back by the clean checkout, its box is ticked and no file changes. If the changes do \
not all come back, or the validation fails with them, nothing is changed (exit 3 or 5); --force ticks all the same. \
`show T004` shows what it is about. The record names you and the time.";

pub(super) const REOPEN: &str = "\
Examples:
  specify ralph reopen T007               T007 is not done: untick its box
  specify ralph reopen T007 'TEXT'        The same, and its next prompt has TEXT
  specify ralph reopen --undo T007        Take that back

No file changes, and the record of T007 stays. `resume` works on it; `accept T007` is the other answer.";

pub(super) const HINT: &str = "\
Examples:
  specify ralph hint 'use the parser that is there'
  specify ralph hint --task T034 'semicolons, as in the old export'
  specify ralph hint --task T003-T007,T010 'no new dependencies'
  specify ralph hint                      List the hints that wait, with their numbers
  specify ralph hint --clear 2            Withdraw one of them

Hints belong to the feature: the running loop uses them, or whichever runs next. A hint without --task goes into one \
prompt; if that iteration is interrupted, into the next one again.";

pub(super) const LOG: &str = "\
Examples:
  specify ralph log                       All iterations, oldest first
  specify ralph log --failed --task T004
  specify ralph log --since yesterday --grep 'connection refused'
  specify ralph log --grep unwrap --in diff
  specify ralph log -n 5 --reverse --oneline
  specify ralph log -- src docs/api.md    Iterations that changed these paths
  specify ralph log --exit validation=101
  specify ralph log --jsonl --failed | jq -r '[.task, .exit.validation] | @tsv'
  specify ralph log --sessions --json

Numbers of attempts are those of their records: what was given up, accepted or cut short has one, too.

--jsonl prints whole records, one per line, for `jq` and other programs. Paths are those of files or folders, relative to \
the current folder.";

pub(super) const BISECT: &str = "\
Examples:
  specify ralph bisect -- cargo test --lib parser
  specify ralph bisect 3 @~2 -- make test Only between these two iterations
  specify ralph bisect --session 20261121-2 -- 'test -f src/login.rs && ! grep -q panic src/login.rs'

The command runs in a temporary checkout of each snapshot that is tried. Exit code 0 passes, 125 means untestable, up \
to 124 fails, as for `git bisect run`. Like git, it assumes that once the command fails, it fails in all later iterations.";

pub(super) const VERIFY: &str = "\
Examples:
  specify ralph verify                    HEAD, without what is not committed
  specify ralph verify ralph/001-login    What a lane published
  specify ralph verify main..pr/118       Commits of anybody, by the settings of main
  specify ralph verify T004               What the last attempt at T004 left
  specify ralph verify --validate 'npm test' --set lanes.setup='npm ci'

Checks the tree out in a folder of its own without any file that git ignores, runs `lanes.setup` and the validation there, \
and records nothing. What fails runs once more with nothing kept. Of a range TARGET..HEAD the merge of both runs, with the \
settings that TARGET has, and so do the tests of before on the new source: docs/verify.md.

Exit codes: 0 holds, 5 fails, 6 says nothing (time limit, disk, ...), 3 not started.";

pub(super) const SHOW: &str = "\
Examples:
  specify ralph show                      The latest iteration of the latest session
  specify ralph show 3 --stdout           The exact bytes of the validation's stdout
  specify ralph show 3 --agent | less
  specify ralph show T004                 The last attempt at T004, and what became of it
  specify ralph show 20261121-2:@         The last iteration of that session
  specify ralph show HEAD                 The iteration that made the checked-out commit

An iteration is named by its number, @ (the last), @~2 (two before it) or a task (the last attempt at it), \
after SESSION: if it is not of the latest session, or LANE: where several loops worked at once; or by a commit: of a record, of \
a snapshot, or made in the iteration";

pub(super) const RESTORE: &str = "\
Examples:
  specify ralph restore 4                 The work tree as it was after iteration 4
  specify ralph restore 4 --dry-run       What that would change
  specify ralph restore @~1 src/login.rs  One file as it was before the last iteration
  specify ralph restore 0 --tasks         As it was before the session, with its task list
  specify ralph restore --undo            Undo the last restoration

The present state is saved first, under refs/ralph-restore/. The index, the branch and HEAD do not change. Neither do \
progress.txt, tasks.md (without --tasks) and files that no snapshot of the session has; if such a file is in the way of \
one to restore, nothing is restored.";

/// Lists the keys that the screen lists on `?`.
pub(super) fn tui() -> String {
    let [acts, moves] = KEY_HELP;
    let keys = acts
        .iter()
        .zip(moves)
        .map(|((key, does), (other, moves))| format!("\n  {key:<4} {does:<32} {other:<8} {moves}"));
    let head = "\
Examples:
  specify ralph tui                       All sessions; follows the running one, also of another terminal
  specify ralph --tui -n 20               Run the loop and show it; q asks whether to stop it

Keys:";
    [head.to_owned()].into_iter().chain(keys).collect()
}

pub(super) const DIFF: &str = "\
Examples:
  specify ralph diff 5                    What iteration 5 changed
  specify ralph diff T004 -- src          What the last attempt at T004 changed in src
  specify ralph diff 3 5                  From the end of iteration 3 to the end of iteration 5
  specify ralph diff 5 ..                 From the end of iteration 5 to the work tree
  specify ralph diff --stat               All changes since the session began
  specify ralph diff 20261121-2:@ @

Runs git's diff with your settings and your pager. Snapshots contain untracked files, but not \
ignored ones.";

pub(super) const SYNC: &str = "\
Examples:
  specify ralph sync                      Fetch new records, then push new ones
  specify ralph sync upstream --fetch-only
  specify ralph sync --snapshots          Include snapshots of the work tree
  git config ralph.remote origin          If there is more than one

Refs only move forward, nothing is deleted, and no password is asked for. Fetched records are verified before their \
refs are created. Check what you share: records hold prompts and outputs, snapshots hold all files that are not ignored.";

pub(super) const PR: &str = "\
Examples:
  specify ralph pr --dry-run              Print the text of the pull request, and push nothing
  specify ralph pr                        Push the branch, and make or update its pull request
  specify ralph pr --draft --records      As a draft, with the records of its sessions

Goes through gh or glab, by the address of the remote. Running it again writes the text anew between its own marks; what people \
wrote around them stays. Nothing is forced, and the first push to an address is asked for.";

pub(super) const FSCK: &str = "\
Examples:
  specify ralph fsck                      Verify everything; exits 1 if something is wrong
  specify ralph fsck --repair             Repair progress.txt, deleted refs, notes, leftovers

Verifies lengths and hashes of all files, messages against the JSON, the order of records, progress.txt and notes. \
`git fsck` verifies the objects.";

pub(super) const CLEAN: &str = "\
Examples:
  specify ralph clean --dry-run           Snapshots older than 30 days, and leftovers
  specify ralph clean --keep-days 90      Also records of sessions that are older than that
  specify ralph clean --keep-last 5       All but the newest 5 of each feature
  specify ralph clean --session 20261121-2

A session that any rule keeps stays; so do running sessions and the one in progress.txt. Removed sessions are not \
fetched again. Remotes do not change.";

pub(super) const HOOKS: &str = "\
Examples:
  specify ralph hooks install             Mark commits of an iteration: Ralph-Made-In: SESSION:N TASK
  specify ralph hooks install --pre-push  `git push` also pushes records, as `sync --push-only` does
  specify ralph hooks uninstall

The blocks do nothing unless a loop runs, and never make a commit or a push fail.";

pub(super) const SHIM: &str = "\
Examples:
  specify-ralph shim install              A link `specify` beside this program
  specify-ralph shim install ~/bin
  specify-ralph shim remove               Remove it; spec-kit's own is untouched

The link never replaces a program. Without it, use `git ralph`.";

pub(super) const PURGE: &str = "\
Examples:
  specify ralph purge 20261121-204512-3f9a0c1d
  specify ralph purge 20261121-2 --local

For a secret that got into a record. A tombstone in refs/ralph-meta/tombstones keeps every `sync` from pushing or \
fetching the session again.";

pub(super) const REPLAY: &str = "\
Examples:
  specify ralph replay                    The latest session, with the current settings
  specify ralph replay 20261121 --set progress.strategy=structured-log
  specify ralph replay --history-mode full --json

No agent and no command runs: summaries are taken from the record. The template is the current one.";

pub(super) const REPORT: &str = "\
Examples:
  specify ralph report --open             The latest session in the browser
  specify ralph report -o night.html      A self-contained file to send
  specify ralph report --all --open       An index of all sessions
  specify ralph web                       The same pages in the browser, kept up to date
  specify ralph report --session 20261121-2 --max-size 20MiB --max-part 1MiB
  specify ralph report --markdown | gh pr comment --body-file -
  specify ralph report --json | jq '.clusters[] | select(.is_open)'

The page contains recorded prompts, answers, outputs and code: review it before you send it. It loads nothing, and \
shows everything that agents and programs wrote as text. Where it leaves something out, it names the command that \
shows it.";

pub(super) const WEB: &str = "\
Examples:
  specify ralph web                       All sessions in the browser
  specify ralph web --port 8123 --no-open

It listens on 127.0.0.1 alone and only reads. The address contains a random token, and gives \
access to all records: keep it to yourself.";

pub(super) const MEMORY: &str = "\
Examples:
  specify ralph memory                    The newest iterations, and older ones with scores and reasons
  specify ralph memory --task T004 --history-mode full
  specify ralph memory --set progress.strategy=structured-log
  specify ralph memory clear              Start afresh; the record keeps everything
  specify ralph memory --json";

pub(super) const CONFIG: &str = "\
Examples:
  specify ralph config                    What is set, and where
  specify ralph config --all              Every setting
  git config ralph.maxIterations 20
  SPECKIT_RALPH_TIMEOUT=2h specify ralph";

/// Completions of `git ralph`, which leave those of spec-kit's `specify` alone.
pub(super) const COMPLETIONS_FOR_GIT: &str = "\
Examples:
  specify ralph completions bash > ~/.local/share/bash-completion/completions/git-ralph
  specify ralph completions zsh > ~/.zfunc/_git-ralph
  specify ralph completions fish > ~/.config/fish/completions/git-ralph.fish
  specify ralph completions powershell >> $PROFILE

A shell loads the file that has the name of the command: this one for `git ralph`. For `specify-ralph`, write the same \
script to a file of that name as well; for `specify ralph`, to one named `specify`, after `shim install`.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  specify ralph completions bash > ~/.local/share/bash-completion/completions/specify
  specify ralph completions zsh > ~/.zfunc/_specify
  specify ralph completions fish > ~/.config/fish/completions/specify.fish
  specify ralph completions powershell >> $PROFILE

A shell loads the file that has the name of the command: this one for `specify ralph`. For `specify-ralph` and \
`git ralph`, write the same script to files named `specify-ralph` and `git-ralph` as well.";

pub(super) const TRUST: &str = "\
Examples:
  specify ralph trust                     Print the commands, and approve them
  specify ralph trust --show              Print them and whether they are approved
  specify ralph trust --revoke            Revoke all approvals
  specify ralph run --trust               Approve for one call
  git config --global ralph.trust always  Never ask

A cloned repository may contain .specify/ralph.toml, which can name commands: agents and their variables, the \
validation, summarizers, hooks, redaction rules. `run` and `resume` use them only after you approved them in this \
repository, and ask again when one of them changes. Approvals are stored in your state directory (~/.local/state), for \
all work trees of the repository. Commands in flags, git's configuration and the environment need no approval.";
