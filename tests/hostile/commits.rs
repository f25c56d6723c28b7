//! Commits that would lack part of the work, and agents that meddle with branches, refs and objects.
