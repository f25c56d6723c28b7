//! The product through its real programs, and the store as plain git sees it.

mod awkward;
mod places;
mod refuse;
mod run;
mod sandbox;
mod size;
mod stop;
mod worst;
