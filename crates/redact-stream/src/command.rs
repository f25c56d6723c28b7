//! Passwords without a name beside them, known by the program or the statement that takes them.

use super::assignment::{is_identifier, is_mixed, is_placeholder, quote_at};
use super::gate::{Window, window};
use super::secret::Secret;
use super::view::View;

/// The form of a command or a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum Command {
    /// `mysql -p...`, `redis-cli -a ...`
    Option,
    /// `echo ... | sudo -S`
    Pipe,
    /// `IDENTIFIED BY '...'`
    Statement,
    /// `::add-mask::...`
    Mask,
    /// `kubectl create secret generic x --from-literal=name=...`
    Literal,
    /// A line of `.pgpass`: `host:5432:database:user:...`
    PasswordFile,
}

/// Programs, an option of theirs, and whether its value may be the rest of the word, or the next word.
const OPTIONS: &[(&[&str], &str, Value)] = &[
    (&["mysql", "mariadb"], "-p", Value::Attached),
    (&["sshpass"], "-p", Value::Either),
    (&["7z", "7za", "7zz", "unrar", "rar"], "-p", Value::Attached),
    (
        &[
            "docker login",
            "podman login",
            "buildah login",
            "skopeo login",
            "nerdctl login",
            "registry login",
            "oc login",
        ],
        "-p",
        Value::Next,
    ),
    (
        &[
            "az login",
            "cf login",
            "mongo",
            "mongosh",
            "mongodump",
            "mongorestore",
            "influx",
            "twine",
            "crane auth login",
        ],
        "-p",
        Value::Next,
    ),
    (&["useradd", "usermod"], "-p", Value::Next),
    (&["redis-cli"], "-a", Value::Next),
    (&["ldap"], "-w", Value::Next),
    (&["zip", "unzip", "sqlcmd", "bcp", "ipmitool", "mosquitto_pub", "mosquitto_sub"], "-P", Value::Either),
    (&["plink", "pscp", "psftp"], "-pw", Value::Next),
    (&["keytool"], "-storepass", Value::Next),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Attached,
    Next,
    Either,
}

/// Programs that read a password from standard input: the text to find, and how much of it precedes the window.
const READERS: [(&str, usize); 5] =
    [("sudo", 0), ("password-stdin", 9), ("with-token", 3), ("chpasswd", 0), ("passphrase-fd", 9)];

const MAX_LINE: usize = 200;
const MAX_SECRET: usize = 256;

pub(super) fn windows() -> impl Iterator<Item = (Window, Command)> {
    let options = [" -p", " -a ", " -w ", "\"-p", "'-p", "\"-a\"", "\"-w\"", "\"-P\""]
        .map(|text| (text, Command::Option));
    let pipes = READERS.map(|(text, skipped)| (&text[skipped..], Command::Pipe));
    let others = [
        ("d by", Command::Statement),
        ("-mask::", Command::Mask),
        ("-literal", Command::Literal),
        (":543", Command::PasswordFile),
        (":643", Command::PasswordFile),
        (":*:", Command::PasswordFile),
    ];
    let all = options.into_iter().chain(pipes).chain(others);
    all.map(|(text, command)| (window(text, |byte| byte.is_ascii_graphic() || byte == b' '), command))
}

pub(super) fn find(view: &View<'_>, command: Command) -> Option<Secret> {
    match command {
        Command::Option => option(view),
        Command::Pipe => pipe(view),
        Command::Statement => statement(view),
        Command::Mask => mask(view),
        Command::Literal => literal(view),
        Command::PasswordFile => password_file(view),
    }
}

/// Returns what is before `at` in its line, whose end may be escaped.
fn line_before<'a>(view: &View<'a>, at: usize) -> &'a [u8] {
    let before = view.before(at);
    let before = &before[before.len().saturating_sub(MAX_LINE)..];
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = &before[start..];
    let escaped = line.windows(2).rposition(|two| two == b"\\n").map_or(0, |at| at + 2);
    &line[escaped..]
}

/// Returns true if a program is called in `line`, as a word or the beginning of one: `mysqldump`.
fn calls(line: &[u8], program: &str) -> bool {
    let is_start =
        |at: usize| at == 0 || !line[at - 1].is_ascii_alphanumeric() && !b"-_.".contains(&line[at - 1]);
    line.windows(program.len()).enumerate().any(|(at, part)| part == program.as_bytes() && is_start(at))
}

fn option(view: &View<'_>) -> Option<Secret> {
    let start = view.anchor + 1;
    let line = line_before(view, view.anchor);
    let is_it = |(programs, name, _): &&(&[&str], &str, Value)| {
        view.has(start, name.as_bytes()) && programs.iter().any(|program| calls(line, program))
    };
    let (_, name, takes) = OPTIONS.iter().rev().find(is_it)?;
    let end = start + name.len();
    let (at, is_next) = match view.byte(end)? {
        b' ' => (view.run_most(end, 4, |byte| byte == b' '), true),
        // The next of a list of words: `"-p", "..."`.
        b'"' | b'\'' if view.byte(view.anchor) != Some(b' ') => {
            (view.run_most(end, 6, |byte| b"\"', ".contains(&byte)), true)
        }
        b'=' => (end + 1, true),
        _ => (end, false),
    };
    let may_be = if is_next { *takes != Value::Attached } else { *takes != Value::Next };
    let secret = may_be.then(|| word(view, at))??;
    let text = view.text(secret.start, secret.end);
    let is_port = text.len() < 6 && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b':');
    (!text.starts_with(b"-") && !is_port).then_some(secret)
}

/// Returns a password that is a word, or is in quotes.
fn word(view: &View<'_>, at: usize) -> Option<Secret> {
    let (start, end) = match quote_at(view, at) {
        Some((mark, start)) => {
            let end = view.run_most(start, MAX_SECRET, |byte| byte != mark && !byte.is_ascii_control());
            let end = end - view.text(start, end).iter().rev().take_while(|&&byte| byte == b'\\').count();
            (start, end)
        }
        None => (at, view.run_most(at, MAX_SECRET, is_in_word)),
    };
    let text = view.text(start, end);
    let is_secret =
        text.len() >= 4 && !is_placeholder(text) && !text.starts_with(b"/") && !text.starts_with(b"./");
    is_secret.then_some(Secret { rule: "password", start, end, belongs: None })
}

fn is_in_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"\"'`;|&)<>\\".contains(&byte)
}

/// `echo ... | sudo -S`, `sudo -S <<< ...`
fn pipe(view: &View<'_>) -> Option<Secret> {
    let is_it = |(text, skipped): &&(&str, usize)| view.has(view.anchor, &text.as_bytes()[*skipped..]);
    let (text, skipped) = READERS.iter().find(is_it)?;
    let end = view.anchor + text.len() - skipped;
    if *text == "sudo" {
        let options =
            view.run_most(end, 40, |byte| byte == b' ' || byte == b'-' || byte.is_ascii_alphanumeric());
        let options = view.text(end, options);
        if !options.windows(2).any(|part| part == b"-S") && !options.windows(7).any(|part| part == b"--stdin")
        {
            return None;
        }
    }
    let here = view
        .run_most(end, 60, |byte| byte != b'<' && byte != b'|' && byte != b'\\' && !byte.is_ascii_control());
    if view.has(here, b"<<<") {
        return word(view, view.run_most(here + 3, 4, |byte| byte == b' '));
    }
    let line = line_before(view, view.anchor);
    let pipe = line.iter().rposition(|&byte| byte == b'|')?;
    let source = line[..pipe].trim_ascii_end();
    let at = ["echo ", "printf "].iter().filter_map(|program| {
        let found = source.windows(program.len()).rposition(|part| part == program.as_bytes())?;
        Some(found + program.len())
    });
    let mut at = at.max()?;
    for skipped in [&b"-n "[..], b"-e ", b"'%s' ", b"\"%s\" ", b"'%s\\n' ", b"%s ", b"\\\"%s\\\" "] {
        at += if source[at..].starts_with(skipped) { skipped.len() } else { 0 };
    }
    let start = view.anchor - line.len() + at;
    let word = word(view, start)?;
    // `echo user:password | chpasswd`
    let password = view.text(word.start, word.end);
    let colon = password.iter().position(|&byte| byte == b':').filter(|_| *text == "chpasswd");
    Some(Secret { start: word.start + colon.map_or(0, |colon| colon + 1), ..word })
}

/// `CREATE USER me IDENTIFIED BY '...'`
fn statement(view: &View<'_>) -> Option<Secret> {
    if !view.has_folded(view.anchor, b"d by") {
        return None;
    }
    let before = view.before(view.anchor);
    let ends = |word: &[u8]| {
        before.len() >= word.len() && before[before.len() - word.len()..].eq_ignore_ascii_case(word)
    };
    let line = line_before(view, view.anchor).to_ascii_lowercase();
    let is_it = ends(b"identifie") || ends(b"passwor") && line.windows(10).any(|part| part == b"identified");
    let at = view.run_most(view.anchor + 4, 4, |byte| byte == b' ');
    let at = if view.has_folded(at, b"password ") { at + 9 } else { at };
    let (mark, _) = is_it.then(|| quote_at(view, at)).flatten()?;
    let secret = word(view, at)?;
    // In a text, not in a statement: `identified by `name``.
    let is_span = mark == b'`' && is_identifier(view.text(secret.start, secret.end));
    (!is_span).then_some(secret)
}

/// `::add-mask::...`
fn mask(view: &View<'_>) -> Option<Secret> {
    let text = b"-mask::";
    if !view.has(view.anchor, text) || !view.before(view.anchor).ends_with(b"::add") {
        return None;
    }
    let start = view.anchor + text.len();
    let end = view.run_most(start, MAX_SECRET, |byte| is_in_word(byte) || byte == b' ');
    let secret = view.text(start, end);
    (!secret.is_empty() && !is_placeholder(secret)).then_some(Secret {
        rule: "secret",
        start,
        end,
        belongs: None,
    })
}

/// `--from-literal=name=...`: whatever its name, it becomes a part of a secret.
fn literal(view: &View<'_>) -> Option<Secret> {
    let text = b"-literal";
    let before = view.before(view.anchor);
    let is_of = |word: &[u8]| before.windows(word.len()).any(|part| part == word);
    if !view.has(view.anchor, text) || !before.ends_with(b"--from") || is_of(b"configmap") {
        return None;
    }
    let at = view.run_most(view.anchor + text.len(), 8, |byte| b"= \"',\\".contains(&byte));
    let name = view.run_most(at, 128, |byte| is_in_word(byte) && byte != b'=');
    let is_tied = name > at && view.byte(name) == Some(b'=');
    // The quote may be around the whole word.
    let quote = view.text(at - 1, at)[0];
    let start = name + 1;
    let secret = if is_tied { word(view, start) } else { None }?;
    let is_quoted = b"\"'".contains(&quote);
    let end = if is_quoted {
        view.run_most(start, MAX_SECRET, |byte| byte != quote && !byte.is_ascii_control())
    } else {
        secret.end
    };
    Some(Secret { rule: "secret", end: end.max(secret.end), ..secret })
}

fn password_file(view: &View<'_>) -> Option<Secret> {
    let line = line_before(view, view.anchor);
    let is_host = !line.is_empty() && line.len() < 100 && line.iter().all(|&byte| is_in_field(byte));
    let port = view.run_most(view.anchor + 1, 5, |byte| byte.is_ascii_digit() || byte == b'*');
    if !is_host || view.byte(port) != Some(b':') {
        return None;
    }
    let database = view.run_most(port + 1, 64, is_in_field);
    let user = view.run_most(database + 1, 64, is_in_field);
    if view.byte(database) != Some(b':')
        || view.byte(user) != Some(b':')
        || user == database + 1
        || database == port + 1
    {
        return None;
    }
    let start = user + 1;
    let end = view.run_most(start, MAX_SECRET, is_in_word);
    let text = view.text(start, end);
    let is_number = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b':');
    let is_end = !matches!(view.byte(end), Some(b' ' | b'\t'));
    let is_secret = text.len() >= 4
        && is_end
        && !is_number
        && !is_placeholder(text)
        && (is_mixed(text) || line != b"http");
    is_secret.then_some(Secret { rule: "password", start, end, belongs: None })
}

fn is_in_field(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-*".contains(&byte)
}
