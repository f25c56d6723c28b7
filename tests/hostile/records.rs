//! Records that this version cannot read.
