//! The product through its real programs, and the store as plain git sees it.

mod architecture;
mod docs;
mod places;
mod refuse;
mod run;
mod sandbox;
mod stop;
