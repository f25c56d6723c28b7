//! Whether a result holds elsewhere: the validation in a clean checkout of a recorded tree.

mod check;
mod checkout;
mod copies;

pub use check::newest_held;
pub(crate) use check::{Checked, CleanState};
pub use checkout::{CleanCheckout, CleanPlace, Tried};
pub(crate) use copies::KeptCopies;
