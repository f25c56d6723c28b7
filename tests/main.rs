//! The product through its real programs, and the store as plain git sees it.

mod docs;
mod run;
mod sandbox;
