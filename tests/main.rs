//! The product through its real programs, and the store as plain git sees it.

mod architecture;
mod docs;
mod run;
mod sandbox;
