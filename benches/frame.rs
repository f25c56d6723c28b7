//! How long a screen takes until something stands on it, on a terminal that nobody looks at.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use camino::Utf8Path;
use nix::pty::{Winsize, openpty};

/// Milliseconds from the start of `specify ralph tui` to the moment at which `text` has been drawn.
pub fn first(dir: &Utf8Path, text: &str) -> Result<f64> {
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).context("open a terminal")?;
    let own = || terminal.slave.try_clone().context("share the terminal");
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_specify-ralph"))
        .args(["ralph", "tui"])
        .current_dir(dir)
        .env("TERM", "xterm-256color")
        .stdin(Stdio::from(own()?))
        .stdout(Stdio::from(own()?))
        .stderr(Stdio::from(own()?))
        .spawn()
        .context("start the screen")?;
    let mut master = File::from(terminal.master);
    let mut drawn = Vec::new();
    let mut buffer = [0; 1 << 14];
    let is_there = |drawn: &[u8]| String::from_utf8_lossy(drawn).contains(text);
    while !is_there(&drawn) {
        let count = master.read(&mut buffer).context("read what is drawn")?;
        ensure!(count > 0, "the screen ended");
        drawn.extend_from_slice(&buffer[..count]);
    }
    let elapsed = begun.elapsed().as_secs_f64() * 1e3;
    master.write_all(b"q").context("press a key")?;
    let status = child.wait().context("wait for the screen")?;
    ensure!(status.success(), "the screen ended with {status}");
    Ok(elapsed)
}
