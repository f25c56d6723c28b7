//! Questions to the person at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Context, Result};

/// Asks a question that takes yes or no; anything but a yes is a no. `None` if no person is there to answer.
pub fn ask(question: &str) -> Result<Option<bool>> {
    let (mut stderr, stdin) = (io::stderr(), io::stdin());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return Ok(None);
    }
    let mut answer = String::new();
    write!(stderr, "{question} [y/N] ")
        .and_then(|()| stderr.flush())
        .and_then(|()| stdin.lock().read_line(&mut answer))
        .context("ask on the terminal")?;
    Ok(Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}
