//! Links, pipes and devices where files of the project are expected.
