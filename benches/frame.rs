//! How long a screen takes until something stands on it, on a terminal that nobody looks at.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use camino::Utf8Path;
use nix::poll::{PollFd, PollFlags, poll};
use nix::pty::{Winsize, openpty};

use super::measure::{Cost, children_so_far};

/// Milliseconds in which a screen draws something new, on any machine.
const PATIENCE: u16 = 30_000;

/// The cost of `specify ralph tui` up to the moment at which `text` has been drawn.
pub fn first(dir: &Utf8Path, text: &str) -> Result<Cost> {
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).context("open a terminal")?;
    let own = || terminal.slave.try_clone().context("share the terminal");
    let before = children_so_far()?;
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
        let mut screen = [PollFd::new(master.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut screen, PATIENCE).context("wait for what is drawn")?;
        ensure!(ready > 0, "the screen does not say `{text}`");
        let count = master.read(&mut buffer).context("read what is drawn")?;
        ensure!(count > 0, "the screen ended");
        drawn.extend_from_slice(&buffer[..count]);
    }
    let wall = begun.elapsed().as_secs_f64() * 1e3;
    // What it would do on its way out is not counted.
    child.kill().context("kill the screen")?;
    child.wait().context("wait for the screen")?;
    let after = children_so_far()?;
    Ok(Cost { cpu: after.cpu - before.cpu, wall, memory: after.memory })
}
