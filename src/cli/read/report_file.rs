//! The file of a report, and showing it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_os::platform::{NULL_DEVICE, canonicalize};

use ralph_core::config::parse_size;
use ralph_os::if_there::IfThere;
use ralph_os::process::{Detached, outside};
use ralph_ui::report::{GENERATOR, MARKDOWN};

use crate::cli::Context;

/// In the start of the JSON.
const JSON: &str = "\"made_by\": \"specify ralph report\"";

/// Bytes at the start of a file by which a report is recognized.
const MARKER_SEARCH_BYTES: u64 = 2048;

/// A browser that cannot start says so within that time.
const BROWSER_START_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the parser for sizes.
pub fn size(text: &str) -> Result<u64> {
    match parse_size(text).filter(|bytes| *bytes > 0) {
        Some(bytes) => Ok(bytes),
        None => bail!("`{text}` is not a size; expected something like 500KiB, 5MiB or a number of bytes"),
    }
}

/// Fails if there is a file that is not a report, unless it is to be overwritten.
pub fn check(file: &Utf8Path, is_forced: bool) -> Result<()> {
    let found = fs::metadata(file).if_there().with_context(|| format!("look at {file}"))?;
    let Some(metadata) = found else { return Ok(()) };
    if metadata.is_dir() {
        bail!("{file} is a folder\nhint: name a file in it: -o {}", file.join("report.html"));
    }
    if !metadata.is_file() || is_forced {
        return Ok(());
    }
    let mut begin = Vec::new();
    let opened = File::open(file).with_context(|| format!("read {file}"))?;
    opened.take(MARKER_SEARCH_BYTES).read_to_end(&mut begin).with_context(|| format!("read {file}"))?;
    let begin = String::from_utf8_lossy(&begin);
    if begin.trim().is_empty() || [GENERATOR, MARKDOWN[0], JSON].iter().any(|mark| begin.contains(mark)) {
        return Ok(());
    }
    bail!("{file} exists and is not a report\nhint: choose another name, or overwrite it with --force")
}

/// Renames it into place, so that no reader sees a partial file.
pub fn write(file: &Utf8Path, bytes: &[u8]) -> Result<()> {
    // What a link leads to is written, not the link.
    let file = canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if fs::metadata(&file).is_ok_and(|metadata| !metadata.is_file()) {
        return OpenOptions::new()
            .write(true)
            .open(&file)
            .and_then(|mut opened| opened.write_all(bytes))
            .with_context(|| format!("write {file}"));
    }
    let draft = Utf8PathBuf::from(format!("{file}.{}", std::process::id()));
    let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &file));
    written.with_context(|| format!("write {file}")).inspect_err(|_| {
        // It may not have been made at all.
        let _gone = fs::remove_file(&draft).is_ok();
    })
}

/// Shows a page in the user's browser, and does not wait until it is closed.
pub fn open(file: &Utf8Path, context: &Context) -> Result<()> {
    let set = context.environment.value("BROWSER").map(|value| value.to_string_lossy().into_owned());
    let set = set.filter(|browsers| !browsers.trim().is_empty());
    let (usual, separator) = if cfg!(windows) {
        ("rundll32 url.dll,FileProtocolHandler", ';')
    } else {
        (if cfg!(target_os = "macos") { "open" } else { "xdg-open" }, ':')
    };
    let mut why = Vec::new();
    for browser in set.as_deref().unwrap_or(usual).split(separator).filter(|words| !words.trim().is_empty()) {
        if outside::runs_open(browser) {
            why.push(format!("{}: it lies in the work tree", browser.trim()));
            continue;
        }
        match start(&command(browser, file), context) {
            Ok(()) => return Ok(()),
            Err(error) => why.push(format!("{}: {error:#}", browser.trim())),
        }
    }
    bail!("no browser could be started: {}\nhint: open {file} yourself, or set BROWSER", why.join("; "))
}

/// Returns the words of a browser in `$BROWSER`, with the file where it wants it.
fn command(browser: &str, file: &Utf8Path) -> Vec<String> {
    let mut words: Vec<String> =
        browser.split_whitespace().map(|word| word.replace("%s", file.as_str())).collect();
    if !browser.contains("%s") {
        words.push(file.to_string());
    }
    words
}

fn start(words: &[String], context: &Context) -> Result<()> {
    let nowhere =
        OpenOptions::new().write(true).open(NULL_DEVICE).with_context(|| format!("open {NULL_DEVICE}"))?;
    let mut browser = Detached::start(words, &context.directory, nowhere)?;
    match browser.ended_within(BROWSER_START_TIMEOUT) {
        Some(code) if code != 0 => bail!("exit code {code}"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_gets_the_file_where_it_wants_it() {
        let file = Utf8Path::new("/tmp/a b.html");
        for (browser, words) in [
            ("firefox", &["firefox", "/tmp/a b.html"][..]),
            (" chromium --app=%s ", &["chromium", "--app=/tmp/a b.html"]),
            ("w3m -o x", &["w3m", "-o", "x", "/tmp/a b.html"]),
        ] {
            assert_eq!(command(browser, file), words);
        }
    }

    #[test]
    fn only_our_own_files_are_written_over_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let file = folder.join("x.html");
        check(&file, false).unwrap();
        for (text, is_ours) in [
            ("", true),
            ("<!doctype html>\n<meta name=\"generator\" content=\"specify-ralph 0.1.0\">", true),
            ("<!doctype html>\n<meta name=\"generator\" content=\"other\">", false),
            ("{\n  \"schema\": 1,\n  \"made_by\": \"specify ralph report\",", true),
            ("# Mine\n", false),
        ] {
            write(&file, text.as_bytes()).unwrap();
            assert_eq!(check(&file, false).is_ok(), is_ours, "{text}");
            check(&file, true).unwrap();
        }
        assert!(check(folder, true).unwrap_err().to_string().contains("is a folder"));
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }
}
