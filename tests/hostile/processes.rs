//! Children that hang, stop or outlive the loop, and signals.
