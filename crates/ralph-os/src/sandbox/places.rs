//! Where commands may do what: the rules, as places in the file system as it is now.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Mechanism, Purpose, Sandbox};
use crate::platform::canonicalize;

/// What is hidden of a home folder unless `sandbox.show` names it: credentials, and what acts for the user.
pub const HIDDEN: &[&str] = &[
    // Keys, and programs that use them for whoever asks.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".vault-token",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".oci",
    ".kube",
    ".docker",
    ".config/containers",
    ".terraform.d",
    ".terraformrc",
    // Hosts of code, packages and data.
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".netrc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".pgpass",
    ".my.cnf",
    // What browsers and mail programs know, and what gives the screen.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".var/app",
    "snap",
    ".Xauthority",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Safari",
    "Library/Application Support/Google",
    "Library/Application Support/Firefox",
    "Library/Application Support/BraveSoftware",
    // What was typed.
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
];

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

impl Sandbox {
    /// Returns what the rules say of the files that are there now, without links in their paths.
    pub(super) fn places(&self, purpose: Purpose) -> Places {
        let rules = &self.rules;
        let mut places = Places::new();
        let needed = NEEDED.iter().copied().map(Utf8Path::new).filter_map(real);
        let needed: Vec<_> = needed.filter(|path| path.starts_with(SOCKETS)).collect();
        if self.mechanism == Mechanism::Bwrap {
            for folder in ["/tmp", "/var/tmp"].into_iter().map(Utf8Path::new).filter_map(real) {
                places.insert(folder, Access::Instead(self.temporary()));
            }
        }
        let own = std::env::current_exe().ok().and_then(|path| Utf8PathBuf::from_path_buf(path).ok());
        let own = own.iter().filter(|path| path.is_file());
        let shown: Vec<_> =
            rules.show.iter().chain(own).filter_map(|path| real(path)).chain(needed).collect();
        let probe = self.private_dir.join("probe");
        let hidden = rules.hide.iter().map(Utf8PathBuf::as_path);
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
        let temporary = (self.mechanism != Mechanism::Bwrap).then(|| self.temporary());
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
