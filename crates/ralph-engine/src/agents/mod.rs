//! Which agent is next, and what is waited for.

mod facts;
pub(super) mod pool;
pub(super) mod waiting;
