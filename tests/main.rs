//! The product through its real programs, and the store as plain git sees it.

#![expect(clippy::too_many_lines, reason = "a test tells its story in one piece")]

mod agents;
mod architecture;
mod awkward;
mod baseline;
mod commits;
mod compatibility;
mod crash;
mod docs;
mod excerpt;
mod figures;
mod finding;
mod finish;
mod forward;
mod good_ground;
mod help;
mod hostile;
mod journal;
mod loops;
mod memory;
mod model;
mod pack;
mod partial;
mod places;
mod queries;
mod read;
mod reader;
mod redact;
mod refuse;
mod report;
mod run;
mod sandbox;
mod scope;
mod settings;
mod share;
mod size;
mod steer;
mod stop;
mod tables;
mod talk;
mod together;
mod travel;
mod upkeep;
mod waiting;
mod worst;
