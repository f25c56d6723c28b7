//! The product through its real programs, and the store as plain git sees it.

mod agents;
mod architecture;
mod awkward;
mod crash;
mod docs;
mod forward;
mod journal;
mod model;
mod pack;
mod places;
mod read;
mod reader;
mod redact;
mod refuse;
mod run;
mod sandbox;
mod settings;
mod share;
mod size;
mod stop;
mod together;
mod travel;
mod upkeep;
mod waiting;
mod worst;
