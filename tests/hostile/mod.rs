//! What hostile or careless surroundings try: cloned files, agents, remotes, terminals, other systems. README.md beside this
//! file says which test answers which case.

mod commits;
mod links;
mod machines;
mod names;
mod processes;
mod records;
mod secrets;
mod trust;
