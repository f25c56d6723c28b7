//! The name by which the program was called, and can be called again.
