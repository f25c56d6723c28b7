//! Whether a result holds elsewhere: the validation in a clean checkout of a recorded tree.

mod check;
mod checkout;
mod copies;

pub(crate) use check::CleanState;
pub use check::newest_held;
pub use checkout::{CleanCheckout, CleanPlace, Tried};
pub(crate) use copies::KeptCopies;
