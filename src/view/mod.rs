//! What people see: one module for each thing that is shown.

pub mod tasks;
