//! Agents.
pub mod final_message;
