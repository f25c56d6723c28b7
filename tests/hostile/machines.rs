//! Sessions of other machines, and systems other than Linux.
