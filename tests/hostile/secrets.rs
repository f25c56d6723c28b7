//! Secrets in every channel and in every disguise.
