//! The longer texts of the help.

pub(super) const RALPH: &str = "\
Examples:
  specify ralph                           Run the loop on the feature of this branch
  specify ralph -n 20 --validate 'npm test'
  specify ralph --agent-command 'sh agent.sh' --tasks PLAN.md
  specify ralph --dry-run                 Print the prompt that the next task would get
  specify ralph hint 'use the parser'     Say something in the next prompt of the running loop
  specify ralph stop                      Stop it after its iteration
  specify ralph log --failed              List the iterations that failed
  specify ralph show 3 --stdout           Print what the validation said in iteration 3
  git log --glob='refs/ralph/*' --oneline

Environment variables:
  SPECKIT_RALPH_<KEY>           Any setting: SPECKIT_RALPH_MAX_ITERATIONS for max-iterations
  SPECIFY_FEATURE_DIRECTORY     Feature directory, where --feature is not given
  NO_COLOR                      No colours, where --color is not given
  Children get RALPH_SESSION, RALPH_ITERATION, RALPH_TASK, RALPH_ATTEMPT, RALPH_FEATURE, RALPH_TASKS,
  RALPH_PROGRESS

Settings: .specify/ralph.toml < git config ralph.* < environment < flags; `specify ralph config` shows them

Exit codes:
  0 done    1 not done, or failed    2 wrong usage    3 cannot start
  130, 143, 129 ended by Ctrl-C, SIGTERM, SIGHUP, with the running iteration recorded";

pub(super) const LOG: &str = "\
Examples:
  specify ralph log                       All iterations, oldest first
  specify ralph log --failed --task T004
  specify ralph log --sessions --json";

pub(super) const SHOW: &str = "\
Examples:
  specify ralph show                      The latest iteration of the latest session
  specify ralph show 3 --stdout           The validation's bytes as they came, and nothing else
  specify ralph show 3 --agent | less";

pub(super) const REBUILD: &str = "\
Examples:
  specify ralph rebuild                   Write progress.txt anew from the record
  specify ralph rebuild --check           Say whether progress.txt is what the record says";

pub(super) const CONFIG: &str = "\
Examples:
  specify ralph config
  git config ralph.maxIterations 20
  SPECKIT_RALPH_TIMEOUT=2h specify ralph";
