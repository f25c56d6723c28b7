//! Whether a result holds elsewhere: the validation in a clean checkout of a recorded tree.

mod check;
mod checkout;
mod copies;
mod range;

pub use check::newest_held;
pub(crate) use check::{Checked, CleanState};
pub use checkout::{CleanCheckout, CleanPlace, Tried};
pub(crate) use copies::KeptCopies;
pub use range::{JudgedCommit, OldTests, RangeAnswer, RangeFailure, RangeInputs, judge_range};
