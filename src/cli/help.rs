//! The longer texts of the help.

pub(super) const RALPH: &str = "\
Examples:
  specify ralph                           Run the loop on the feature of this branch
  specify ralph -n 20 --validate 'npm test'
  specify ralph --agent-command 'sh agent.sh' --tasks PLAN.md
  specify ralph --dry-run                 Print the prompt that the next task would get
  specify ralph hint 'use the parser'     Put a hint into the next prompt of the running loop
  specify ralph stop                      Stop it after its iteration
  specify ralph log --failed              List the iterations that failed
  specify ralph show 3 --stdout           Print what the validation said in iteration 3
  git log --glob='refs/ralph/*' --oneline

Environment variables:
  SPECKIT_RALPH_<KEY>           Any setting: SPECKIT_RALPH_MAX_ITERATIONS for max-iterations
  SPECIFY_FEATURE_DIRECTORY     Feature directory, where --feature is not given
  SPECIFY_INIT_DIR              Folder of the project, wherever the command is called
  NO_COLOR                      No colours, where --color is not given
  Children get RALPH_SESSION, RALPH_ITERATION, RALPH_TASK, RALPH_ATTEMPT, RALPH_FEATURE, RALPH_TASKS,
  RALPH_PROGRESS

Settings: .specify/ralph.toml < git config ralph.* < environment < flags; `specify ralph config` shows them

Exit codes:
  0 done    1 failed    2 wrong usage    3 cannot start
  4 a limit    5 stuck    6 the agent or the validation cannot be used
  130, 143, 129 ended by Ctrl-C, SIGTERM, SIGHUP, with the running iteration recorded";

pub(super) const SHORT: &str = "\
Examples:
  specify ralph --validate 'cargo test' -n 20
  specify ralph log --failed

All commands and flags: specify ralph help --all";

pub(super) const LOG: &str = "\
Examples:
  specify ralph log                       All iterations, oldest first
  specify ralph log --failed --task T004
  specify ralph log --since yesterday --grep 'connection refused'
  specify ralph log -n 5 --reverse --oneline
  specify ralph log -- src docs/api.md    Iterations that changed something there
  specify ralph log --where captured.port=8080 --exit validation=101
  specify ralph log --format name,task,exit.validation,cause
  specify ralph log --jsonl               Whole records, one a line
  specify ralph log --sessions --json

Fields are those of the JSON (tokens.input is one in another), what the rules of `capture.NAME` found (captured.NAME), \
and name (for show, diff and restore) and subject. --where takes any field of the record as well, as `show --json` \
prints it; a list holds a value if one of its items is equal, and a field that is missing or null has none. Of cost_usd, \
false_claim and cause --format knows what the trailers say, which records of earlier versions lack. Paths are read from \
the current folder; folders, `*`, `?`, `:/` for the top and `:!` to leave something out work as in git.";

pub(super) const BISECT: &str = "\
Examples:
  specify ralph bisect -- cargo test --lib parser
  specify ralph bisect 3 @~2 -- make test Only between these two iterations
  specify ralph bisect --session 20261121-2 -- 'test -f src/login.rs && ! grep -q panic src/login.rs'

The command runs in a temporary checkout of each snapshot that is tried. Exit code 0 passes, 125 means untestable, up \
to 124 fails, as for `git bisect run`; and as there it is taken for granted that what fails once goes on failing.";

pub(super) const SHOW: &str = "\
Examples:
  specify ralph show                      The latest iteration of the latest session
  specify ralph show 3 --stdout           The validation's bytes as they came, and nothing else
  specify ralph show 3 --agent | less
  specify ralph show T004 --patch         What the last iteration on T004 changed
  specify ralph show 20261121-2:@         The last iteration of the session whose id begins like that
  specify ralph show HEAD                 The iteration in which the checked out commit was made

An iteration is a number, @ (the last), @~2 (two before it) or a task (the last one that worked on it), in \
front of it a session and a colon where it is not the latest; or a commit: of a record, of a snapshot, or one that was \
made in the iteration";

pub(super) const RESTORE: &str = "\
Examples:
  specify ralph restore 4                 The work tree as it was after iteration 4
  specify ralph restore 4 --dry-run       What that would change
  specify ralph restore @~1 src/login.rs  One file as it was before the last iteration
  specify ralph restore 0 --tasks         As it was before the session, with its task list
  specify ralph restore --undo            Take the last restoration back

What is there is kept first, under refs/ralph-restore/. Index, branch and HEAD stay as they are. progress.txt \
stays, too, and tasks.md unless --tasks is given. So do files that no snapshot of the session has; where one stands in \
the way of a file that should come, nothing is restored.";

pub(super) const TUI: &str = "\
Examples:
  specify ralph tui                       All sessions; follows what runs, also from another terminal
  specify ralph --tui -n 20               Run the loop and show it; q asks what shall become of it

Keys (the mouse works too; more of them behind ?):
  j k g G, arrows    Move              o  Output      ] [  Next failure, the one before
  Tab, Enter, Esc    List and view     L  Logs        F    Follow what runs
  / f                Filter, failed    d  Describe    y Y  Copy the name, the commit
  Space z            Fold, all of it   D  Diff        v e  Open in the pager, in the editor
  w                  Wrap long lines   p  Prompt      ?    Help
                                       t  Tasks       q    Quit
                                       h  History";

pub(super) const DIFF: &str = "\
Examples:
  specify ralph diff 3 5                  From the end of iteration 3 to the end of iteration 5
  specify ralph diff 0 @ --stat           All that the session changed
  specify ralph diff 5 -- src             From iteration 5 to the work tree as it is, in src alone
  specify ralph diff 20261121-2:@ @

Runs git's diff with your settings and your pager. Both sides are snapshots: untracked files are in them, \
ignored ones are not.";

pub(super) const SYNC: &str = "\
Examples:
  specify ralph sync                      Fetch what is new there, push what is new here
  specify ralph sync upstream --fetch-only
  specify ralph sync --snapshots          With the work trees as they were
  git config ralph.remote origin          Where there is more than one

Refs only go forward, nothing is deleted, no password is asked for. What comes in is checked before it \
gets its name. Look at what you share: prompts and outputs, and in snapshots all files but ignored ones.";

pub(super) const FSCK: &str = "\
Examples:
  specify ralph fsck                      Everything that is here; exits 1 where something differs
  specify ralph fsck --repair             progress.txt, deleted refs that are still known, notes, leftovers

Looks at lengths and hashes of all files, messages against JSON, the order of records, progress.txt and notes. \
`git fsck` looks at the objects themselves.";

pub(super) const CLEAN: &str = "\
Examples:
  specify ralph clean --dry-run           Snapshots that are older than 30 days, and leftovers
  specify ralph clean --keep-days 90      Records too, of sessions that were last written before that
  specify ralph clean --keep-last 5       All but the newest 5 of each feature
  specify ralph clean --session 20261121-2
  specify ralph clean --pack              Remove nothing, and put ralph's loose objects into a pack

What is kept by any rule stays; so does a session that runs, and the one that progress.txt follows. What goes is \
not fetched again. Remotes are not touched.";

pub(super) const HOOKS: &str = "\
Examples:
  specify ralph hooks install             Commits made in an iteration say so: Ralph-Made-In: SESSION:N TASK
  specify ralph hooks install --pre-push  `git push` brings the records along, as `sync --push-only` does
  specify ralph hooks uninstall

A block costs nothing where no loop runs, and never fails a commit or a push.";

pub(super) const PURGE: &str = "\
Examples:
  specify ralph purge 20261121-204512-3f9a0c1d
  specify ralph purge 20261121-2 --local

For a secret that got into a record. A tombstone on refs/ralph-meta/tombstones keeps the session from being \
pushed or fetched again by anybody who syncs.";

pub(super) const REPLAY: &str = "\
Examples:
  specify ralph util replay               The latest session, with the settings of today
  specify ralph util replay 20261121 --strategy structured-log
  specify ralph util replay --history-mode full --json

No agent and no command runs: of summaries those are taken that the record has. The template is that of today.";

pub(super) const REPORT: &str = "\
Examples:
  specify ralph report --open             The latest session in the browser
  specify ralph report -o night.html      A file to send: it needs no network and nothing installed
  specify ralph report --session 20261121-2 --max-size 20MiB --max-part 1MiB
  specify ralph report --markdown | gh pr comment --body-file -
  specify ralph report --json | jq '.clusters[] | select(.is_open)'

The page holds prompts, answers, outputs and code as recorded: look at it before you send it. It loads nothing, and \
shows what agents and programs wrote as text. What it leaves out to stay small it names, with the command that \
shows it.";

pub(super) const MEMORY: &str = "\
Examples:
  specify ralph memory                    The newest iterations, and older ones with scores and reasons
  specify ralph memory --task T004 --history-mode full
  specify ralph memory --set progress.strategy=structured-log
  specify ralph memory clear              Begin with nothing; the record keeps everything
  specify ralph memory --json";

pub(super) const CONFIG: &str = "\
Examples:
  specify ralph config
  git config ralph.maxIterations 20
  SPECKIT_RALPH_TIMEOUT=2h specify ralph";

pub(super) const EXCERPT: &str = "\
Examples:
  npm test 2>&1 | specify ralph util excerpt
  specify ralph util excerpt --stdout out.txt --stderr err.txt --exit-code 1 --max-chars 1000 --json
  specify ralph util excerpt --batch inputs.jsonl --neighbours";
/// Completions of `git ralph`, which leave those of spec-kit's `specify` alone.
pub(super) const COMPLETIONS_FOR_GIT: &str = "\
Examples:
  specify ralph util completions bash > ~/.local/share/bash-completion/completions/git-ralph
  specify ralph util completions zsh > ~/.zfunc/_git-ralph
  specify ralph util completions fish > ~/.config/fish/completions/git-ralph.fish
  specify ralph util completions powershell >> $PROFILE";

pub(super) const COMPLETIONS: &str = "\
Examples:
  specify ralph util completions bash > ~/.local/share/bash-completion/completions/specify
  specify ralph util completions zsh > ~/.zfunc/_specify
  specify ralph util completions fish > ~/.config/fish/completions/specify.fish
  specify ralph util completions powershell >> $PROFILE";

pub(super) const TRUST: &str = "\
Examples:
  specify ralph trust                     Print the commands, and approve them
  specify ralph trust --show              Print them and whether they are approved
  specify ralph trust --revoke            Take every approval back
  specify ralph run --trust               Approve for one call
  git config --global ralph.trust always  Never ask

A clone brings .specify/ralph.toml with it, and that file can name commands: agents and their variables, the \
validation, summarizers, hooks, rules of redaction. `run` and `resume` use them only after you approved them in this \
repository; when one of them changes, they ask again. Approvals are kept in your own folder for state \
(~/.local/state), for all work trees of the repository. What flags, git's configuration and the environment name \
needs no approval.";
