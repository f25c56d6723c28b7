//! Which agent is next, and what is waited for.

pub(super) mod pool;
pub(super) mod waiting;
