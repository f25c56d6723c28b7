//! One count of everything, for every screen and every JSON: a session, and a feature over all of its sessions.

mod causes;
mod feature;
mod flags;
mod gone;
mod group;
mod not_done;
mod queue;
mod session;
mod states;
#[cfg(test)]
mod tests;
mod totals;

pub use feature::{FeatureView, left_behind};
pub use group::short_names;
pub use queue::{Queue, integrations};
pub use session::SessionView;
