//! Where commands may do what: the rules, as places in the file system as it is now.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Mechanism, Purpose, Sandbox};
use crate::platform::canonicalize;

/// Credentials, and what acts for the user: lines of a path from the home folder, or from what a variable names, and its source.
const TABLE: &str = include_str!("places.tsv");

/// Variables that name another folder for what lies in this one of the home. Some of it may stay where it was.
const MOVED: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("CARGO_HOME", ".cargo"),
    ("GRADLE_USER_HOME", ".gradle"),
    ("CODEX_HOME", ".codex"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
];

/// Maximum number of files that are looked at to find a socket whose name alone is known.
const MAX_SEARCHED: usize = 20_000;

/// Deepest folder in which such a socket is looked for, from the home or the work tree.
const MAX_DEPTH: usize = 4;

/// Of git, which asks it what changed: nothing is done for who connects.
const HARMLESS_SOCKET: &str = "fsmonitor--daemon.ipc";

/// Sockets of docker, dbus, gpg and others: a socket can be connected to where nothing can be written.
const SOCKETS: &str = "/run";

/// What is needed of the folder with the sockets: names of hosts, and the programs of NixOS.
const NEEDED: &[&str] = &["/etc/resolv.conf", "/run/current-system", "/run/opengl-driver"];

/// What a place is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    /// Written, but to a folder of ours.
    Instead(Utf8PathBuf),
    ReadOnly,
    /// Hidden, and readable all the same.
    Shown,
    HiddenDir,
    HiddenFile,
}

/// Places by path, so that each comes after the folders that it is in: the innermost counts.
pub(super) type Places = BTreeMap<Utf8PathBuf, Access>;

/// Returns what is hidden unless `sandbox.show` names it, of somebody with this home folder and these variables; also what is
/// not there. A `*` in a path is for any name.
pub fn hidden(home: &Utf8Path, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Utf8PathBuf> {
    let moved: Vec<_> = MOVED
        .iter()
        .filter_map(|(name, usual)| Some((Utf8PathBuf::from(variable(name)?), usual)))
        .filter(|(folder, _)| folder.is_absolute())
        .collect();
    let mut hidden = Vec::new();
    for path in table() {
        let Some(named) = path.strip_prefix('$') else {
            let rest = |usual| Utf8Path::new(path).strip_prefix(usual).ok();
            hidden.extend(moved.iter().filter_map(|(folder, usual)| Some(folder.join(rest(usual)?))));
            hidden.push(home.join(path));
            continue;
        };
        let (name, rest) = named.split_once('/').map_or((named, None), |(name, rest)| (name, Some(rest)));
        let places = variable(name).unwrap_or_default();
        // Several, as in KUBECONFIG, are separated like those of the PATH.
        let places = std::env::split_paths(&places).filter_map(|path| Utf8PathBuf::from_path_buf(path).ok());
        let places = places.filter(|path| path.is_absolute());
        match rest {
            Some(rest) => hidden.extend(places.map(|folder| folder.join(rest))),
            None => hidden.extend(places.filter(|path| !path.is_dir())),
        }
    }
    hidden
}

fn table() -> impl Iterator<Item = &'static str> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('\t')).map(|(path, _)| path)
}

/// Returns those of the places that are there now.
pub(super) fn present(places: &[Utf8PathBuf]) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    for place in places {
        if place.symlink_metadata().is_ok() {
            found.push(place.clone());
        } else if let Some(part) = place.components().find(|part| part.as_str().contains('*')) {
            let part = part.as_str();
            let above: Utf8PathBuf = place.components().take_while(|it| it.as_str() != part).collect();
            let rest: Utf8PathBuf = place.components().skip_while(|it| it.as_str() != part).skip(1).collect();
            let (start, end) = part.split_once('*').unwrap_or((part, ""));
            let Ok(entries) = above.read_dir_utf8() else { continue };
            let entries = entries.flatten().filter(|entry| {
                entry.file_name().strip_prefix(start).is_some_and(|name| name.ends_with(end))
            });
            let paths = entries
                .map(|entry| entry.path().components().chain(rest.components()).collect::<Utf8PathBuf>());
            found.extend(paths.filter(|path| path.symlink_metadata().is_ok()));
        }
    }
    found
}

/// Returns the sockets in these folders that a process has open, as far as the kernel lists them: somebody may answer there who
/// acts for the user.
pub(super) fn sockets(table: &[u8], tops: &[Utf8PathBuf]) -> Vec<Utf8PathBuf> {
    let table = String::from_utf8_lossy(table);
    let named: BTreeSet<&str> = table
        .lines()
        .skip(1)
        .filter_map(|line| {
            // Num RefCount Protocol Flags Type St Inode Path
            let behind =
                (0..7).try_fold(line, |rest, _| rest.trim_start().split_once(' ').map(|(_, rest)| rest))?;
            Some(behind).filter(|name| !name.is_empty() && !name.starts_with('@'))
        })
        .collect();
    let (paths, relative): (BTreeSet<_>, BTreeSet<_>) =
        named.into_iter().partition(|name| name.starts_with('/'));
    let mut found: Vec<Utf8PathBuf> =
        paths.into_iter().filter_map(|path| real(Utf8Path::new(path))).collect();
    let names: BTreeSet<&str> =
        relative.into_iter().filter_map(|name| Utf8Path::new(name).file_name()).collect();
    if !names.is_empty() {
        // One that was bound from its own folder is listed by its name alone.
        let mut left = MAX_SEARCHED;
        for top in tops {
            search(top, &names, MAX_DEPTH, &mut left, &mut found);
        }
    }
    found.retain(|path| {
        tops.iter().any(|top| path.starts_with(top)) && path.file_name() != Some(HARMLESS_SOCKET)
    });
    found
}

fn search(
    folder: &Utf8Path,
    names: &BTreeSet<&str>,
    depth: usize,
    left: &mut usize,
    found: &mut Vec<Utf8PathBuf>,
) {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 1 {
            search(entry.path(), names, depth - 1, left, found);
        } else if !kind.is_file() && !kind.is_symlink() && names.contains(entry.file_name()) {
            found.push(entry.into_path());
        }
    }
}

impl Sandbox {
    /// Returns what the rules say of the files that are there now, without links in their paths.
    pub(super) fn places(&self, purpose: Purpose) -> Places {
        let rules = &self.rules;
        let mut places = Places::new();
        let needed = NEEDED.iter().copied().map(Utf8Path::new).filter_map(real);
        let needed: Vec<_> = needed.filter(|path| path.starts_with(SOCKETS)).collect();
        if self.mechanism == Mechanism::Bwrap {
            for folder in ["/tmp", "/var/tmp"].into_iter().map(Utf8Path::new).filter_map(real) {
                places.insert(folder, Access::Instead(self.temporary(purpose)));
            }
        }
        let own = std::env::current_exe().ok().and_then(|path| Utf8PathBuf::from_path_buf(path).ok());
        let own = own.iter().filter(|path| path.is_file());
        let shown: Vec<_> =
            rules.show.iter().chain(own).filter_map(|path| real(path)).chain(needed).collect();
        let probe = self.private_dir.join("probe");
        let hidden = present(&rules.hide);
        let tops: Vec<_> =
            [&self.real_home].into_iter().chain(&rules.write).filter_map(|path| real(path)).collect();
        let sockets = sockets(&fs::read("/proc/net/unix").unwrap_or_default(), &tops);
        let hidden = hidden.iter().chain(&sockets).map(Utf8PathBuf::as_path);
        for path in hidden.chain([Utf8Path::new(SOCKETS), &probe]).filter_map(real) {
            let access = if path.is_dir() { Access::HiddenDir } else { Access::HiddenFile };
            places.insert(path, access);
        }
        places.extend(shown.into_iter().map(|path| (path, Access::Shown)));
        places.extend(
            rules.read_only.iter().filter_map(|path| real(path)).map(|path| (path, Access::ReadOnly)),
        );
        let home = self.home.clone();
        let filters = rules.filters_write.iter().filter(|_| purpose == Purpose::Filter);
        let write = rules.write.iter().chain(filters).filter_map(|path| real(path));
        let temporary = (self.mechanism != Mechanism::Bwrap).then(|| self.temporary(purpose));
        places.extend(write.chain([home]).chain(temporary).map(|path| (path, Access::Write)));
        pin(&mut places);
        places
    }
}

/// Makes places of the folders between one that can be written and what is protected in it: a folder that is no place could
/// be renamed, and another put where it was.
fn pin(places: &mut Places) {
    let protected: Vec<_> = places.keys().cloned().collect();
    for path in protected {
        let above: Vec<_> = path
            .ancestors()
            .skip(1)
            .take_while(|folder| !places.contains_key(*folder))
            .map(Utf8Path::to_owned)
            .collect();
        let outer = path.ancestors().skip(1).find_map(|folder| places.get(folder));
        if outer == Some(&Access::Write) {
            places.extend(above.into_iter().map(|folder| (folder, Access::Write)));
        }
    }
}

fn real(path: &Utf8Path) -> Option<Utf8PathBuf> {
    canonicalize(path).ok()
}
