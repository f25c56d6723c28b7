//! The product through its real programs, and the store as plain git sees it.

mod crash;
mod run;
mod sandbox;
mod together;
