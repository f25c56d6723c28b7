//! Commands and addresses that arrive with a clone, or that an agent plants.
