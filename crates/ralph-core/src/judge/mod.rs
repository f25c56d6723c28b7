//! What the evidence of an attempt comes to: its changes and its tests against those of the trusted state. Pure.

mod bare;
pub mod clean;
mod decision;
#[cfg(test)]
mod decision_tests;
mod definitions;
mod diff;
#[cfg(test)]
mod diff_tests;
mod flaky;
mod ignored;
mod known_failures;
mod languages;
mod mask;
mod nothing_to_run;
mod ordered;
mod own_files;
mod paths;
pub mod range;
mod recipes;
mod rewritten;
mod shell;
mod ticks;
mod unseen;

pub use bare::asks_for_bare_file;
pub use decision::{
    Decision, Measurements, SecondResult, contradiction, counts_fell, decide, is_contradicted,
};
pub use diff::{ChangedFile, DiffFindings, Finding, findings};
pub use flaky::{is_cheap, lies_in_changed, may_be_flaky};
pub use ignored::{
    DependencyFolder, IgnoredChange, IgnoredFile, IgnoredFiles, IgnoredWork, decides_dependencies,
    holds_dependencies, is_build_or_cache, is_cache_in_dependencies, is_installers_note,
};
pub use known_failures::{KnownFailures, confirm, known_failures, still_known};
pub use nothing_to_run::{NothingToRun, is_one_of, manifests_of, nothing_to_run};
pub use ordered::{
    is_verification, nothing_to_change, orders_own_file_change, orders_removal, orders_reversal, orders_skip,
};
pub use own_files::{Lookup, OwnFiles, selects_by_change};
pub use paths::{
    acts_on_other_tests, decides_ci, decides_what_runs, is_manifest, is_test_file, is_test_snapshot,
    is_worth_reading, may_have_moved, without_trailing_blanks,
};
pub use rewritten::{PersonsTexts, rewrote_flag};
pub use ticks::closable;
pub use unseen::{is_hidden_code, is_made_by_tools, unseen_words, without_numbers, written_outside};
