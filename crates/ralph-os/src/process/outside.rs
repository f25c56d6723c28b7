//! Programs of the host that run outside of the fence: where they are found, and what leads them to other programs. None of
//! that may lie where commands inside can write, however it is spelt.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use camino::{Utf8Path, Utf8PathBuf};

use crate::platform::{is_path, may_run, program_names, tool};
use ralph_core::record::Refusal;

/// Variables with lists of folders in which programs find other programs, libraries and modules.
const LISTS: &[&str] = &[
    "PATH",
    "GIT_EXEC_PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "PYTHONPATH",
    "PERL5LIB",
    "RUBYLIB",
    "NODE_PATH",
];

/// Variables with a file that is loaded, or that names commands.
const FILES: &[&str] = &["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_TEMPLATE_DIR", "BASH_ENV"];

/// Variables with a command, or with options that load files.
const COMMANDS: &[&str] = &[
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_PAGER",
    "PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "VISUAL",
    "EDITOR",
    "BROWSER",
    "GIT_EXTERNAL_DIFF",
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "LESSOPEN",
    "LESSCLOSE",
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
];

/// Programs that others start by name: a link of such a name in a folder of the PATH counts as the folder.
const BY_NAME: &[&str] = &[
    "sh",
    "bash",
    "env",
    "git",
    "git-lfs",
    "gpg",
    "gpg2",
    "gpgsm",
    "gpg-agent",
    "ssh",
    "ssh-keygen",
    "less",
    "node",
    "python3",
];

/// Programs without which nothing works.
const NEEDED: &[&str] = &["git", "sh", "env"];

/// Programs that run what the folder has in which they are started.
const RUN_THE_FOLDER: &[&str] = &[
    "npx", "npm", "pnpm", "yarn", "bun", "bunx", "bundle", "rake", "make", "just", "cargo", "uv", "poetry",
    "mise",
];

/// What is in force: for each command as soon as it knows its folder, for a session in a sandbox with all places.
static IN_FORCE: RwLock<Option<Arc<Outside>>> = RwLock::new(None);

/// What programs outside must not be led to, and what keeps them from it.
#[derive(Debug, Default)]
pub struct Outside {
    /// Where commands inside can write, without links.
    open: Vec<PathBuf>,
    /// Whether a program that is found nowhere else may be one from there: where no sandbox is asked for.
    is_lenient: bool,
    /// Whether what programs start is looked at, too.
    goes_on: bool,
    /// Variables that are not passed on as they are: as the user has them, and what is left of them.
    variables: BTreeMap<String, (OsString, Option<OsString>)>,
    /// Settings of git that name programs.
    programs: Vec<(String, String)>,
    /// Settings with which git does without them.
    settings: Vec<(String, &'static str)>,
    found: Mutex<BTreeMap<OsString, Option<PathBuf>>>,
}

/// Returns what is in force.
pub(crate) fn in_force() -> Option<Arc<Outside>> {
    IN_FORCE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn put_in_force(outside: Option<Outside>) {
    *IN_FORCE.write().unwrap_or_else(PoisonError::into_inner) = outside.map(Arc::new);
}

/// Has programs found elsewhere than in the work tree around `directory`. Where the command `only_reads`, what they start is, too.
pub fn begin(directory: &Utf8Path, only_reads: bool) {
    let top = directory.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let open = fs::canonicalize(top.unwrap_or(directory)).into_iter().collect();
    let environment = only_reads.then(std::env::vars_os).into_iter().flatten();
    let outside = Outside::new(open, environment, Vec::new());
    put_in_force(Some(Outside { is_lenient: true, goes_on: only_reads, ..outside }));
}

/// Takes the settings of git that name programs.
pub fn note_settings(settings: &[(String, String)]) {
    let Some(now) = in_force().filter(|now| now.goes_on) else { return };
    let programs = settings.iter().filter(|(key, _)| is_program(key)).cloned().collect();
    let environment = now.variables.iter().map(|(name, (value, _))| (name.into(), value.clone()));
    let outside = Outside::new(now.open.clone(), environment, programs);
    put_in_force(Some(Outside { is_lenient: now.is_lenient, goes_on: true, ..outside }));
}

/// Has everything found as ever: no sandbox is asked for.
pub fn lift() {
    put_in_force(None);
}

/// Closes also what commands of a session can write. Returns what is to be said of it, once.
///
/// # Errors
///
/// A [`Refusal`] if a program that is needed is nowhere else.
pub fn close<'p>(places: impl Iterator<Item = &'p Utf8Path>) -> Result<Vec<String>, Refusal> {
    let before = in_force();
    let (mut open, programs) =
        before.as_ref().map(|now| (now.open.clone(), now.programs.clone())).unwrap_or_default();
    open.extend(places.filter_map(|place| fs::canonicalize(place).ok()));
    open.sort();
    open.dedup();
    let outside = Outside { goes_on: true, ..Outside::new(open, std::env::vars_os(), programs) };
    if let Some(missing) = NEEDED.iter().find(|name| outside.find(name.as_ref()).is_none()) {
        let message =
            format!("there is no program `{missing}` on the PATH but where the agent could write it");
        return Err(Refusal::new(message)
            .with_hint("install it elsewhere, or start without such folders on the PATH"));
    }
    let is_said = before.is_some_and(|before| !before.is_lenient);
    let lines = if is_said { Vec::new() } else { outside.lines() };
    put_in_force(Some(outside));
    Ok(lines)
}

/// Returns where to start a program that was found at this path: there, or where one of its name is out of reach of commands inside.
pub(crate) fn start_of(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let Some(outside) = in_force().filter(|outside| outside.leads_into(path.as_std_path())) else {
        return Some(path.to_owned());
    };
    Utf8PathBuf::from_path_buf(outside.find(path.file_name()?.as_ref())?).ok()
}

/// Returns true for a variable that leads programs to others, where that is looked at.
pub(crate) fn leads(name: &str) -> bool {
    [LISTS, COMMANDS, FILES].iter().any(|names| names.contains(&name)) && in_force().is_some()
}

/// Returns true if a program is in a place for programs outside, or nothing is in force.
pub fn is_found(name: &str) -> bool {
    in_force().is_none_or(|outside| outside.find(name.as_ref()).is_some())
}

/// Returns true if a command, as a shell or git takes it, would run something that commands inside could have written.
pub fn runs_open(command: &str) -> bool {
    in_force().is_some_and(|outside| outside.runs_open(command))
}

/// Returns options with which `git diff` runs no program that commands inside could have written.
pub fn diff_options() -> Vec<&'static str> {
    let Some(outside) = in_force() else { return Vec::new() };
    let is_set = |end: &str| {
        outside
            .programs
            .iter()
            .any(|(key, value)| is_program(key) && key.ends_with(end) && outside.runs_open(value))
    };
    let external = is_set(".command") || is_set("diff.external");
    let options = [(external, "--no-ext-diff"), (is_set(".textconv"), "--no-textconv")];
    options.into_iter().filter_map(|(is_set, option)| is_set.then_some(option)).collect()
}

impl Outside {
    fn new(
        open: Vec<PathBuf>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        programs: Vec<(String, String)>,
    ) -> Self {
        let mut outside = Self { open, programs, ..Self::default() };
        for (name, value) in environment {
            let Some(name) = name.to_str() else { continue };
            let left = if LISTS.contains(&name) {
                let left = std::env::join_paths(outside.closed_folders(&value)).unwrap_or_default();
                Some(left).filter(|left| !left.is_empty() || name == "PATH")
            } else if COMMANDS.contains(&name) && outside.runs_open(&value.to_string_lossy())
                || FILES.contains(&name)
                    && (Path::new(&value).is_relative() || outside.leads_into(value.as_ref()))
            {
                None
            } else {
                continue;
            };
            if left.as_ref() != Some(&value) {
                outside.variables.insert(name.to_owned(), (value, left));
            }
        }
        let named = outside.programs.iter().filter(|(_, value)| outside.runs_open(value));
        let replaced = named.filter_map(|(key, _)| Some((key.clone(), replacement(key)?)));
        outside.settings = replaced.collect();
        outside
    }

    /// Returns the folders of a list in which commands inside can put nothing. An empty one is the present folder.
    fn closed_folders(&self, list: &OsStr) -> Vec<PathBuf> {
        let is_closed = |folder: &PathBuf| {
            let is_led = |name: &&str| folder.join(name).is_symlink() && self.leads_into(&folder.join(name));
            folder.is_absolute() && !self.leads_into(folder) && !BY_NAME.iter().any(is_led)
        };
        std::env::split_paths(list).filter(is_closed).collect()
    }

    /// Returns where a program is that is asked for by its name: looked for once.
    fn find(&self, name: &OsStr) -> Option<PathBuf> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || {
            #[expect(
                clippy::disallowed_methods,
                reason = "programs are found as the system would find them for us"
            )]
            let folders = self.closed_folders(&std::env::var_os("PATH").unwrap_or_default());
            let names = program_names(name.to_str()?);
            let files = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
            files.into_iter().find(|file| may_run(file) && !self.leads_into(file))
        };
        found.entry(name.to_owned()).or_insert_with(look).clone()
    }

    /// Returns what starts a program.
    pub(super) fn program(&self, name: &OsStr) -> OsString {
        if is_path(&name.to_string_lossy()) {
            return name.to_owned();
        }
        match self.find(name) {
            Some(found) => found.into_os_string(),
            None if self.is_lenient => tool(name),
            None => name.to_owned(),
        }
    }

    /// Returns the variables that programs outside get otherwise than the user has them.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, Option<&OsStr>)> {
        self.variables.iter().map(|(name, (_, left))| (name.as_str(), left.as_deref()))
    }

    /// Returns the same as the user has them.
    pub(crate) fn users_variables(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.variables.iter().map(|(name, (value, _))| (name.as_str(), value.as_os_str()))
    }

    /// Returns arguments of git's.
    pub(super) fn settings(&self) -> impl Iterator<Item = OsString> + '_ {
        self.settings.iter().flat_map(|(key, value)| ["-c".into(), format!("{key}={value}").into()])
    }

    /// Returns true if a path, or a link or folder on the way to it, is where commands inside can write.
    fn leads_into(&self, path: &Path) -> bool {
        const MAX_LINKS: usize = 40;
        let parts = |path: &Path| {
            let parts = path.components().map(|part| part.as_os_str().to_owned());
            parts.rev().collect::<Vec<_>>()
        };
        let (mut at, mut links, mut rest) = (PathBuf::new(), 0, parts(path));
        while let Some(part) = rest.pop() {
            if part == Component::ParentDir.as_os_str() {
                at.pop();
                continue;
            }
            let next = at.join(part);
            if self.open.iter().any(|open| next.starts_with(open)) {
                return true;
            }
            let Ok(target) = fs::read_link(&next) else {
                at = next;
                continue;
            };
            // Of an absolute one the first part is the root, which begins anew.
            rest.extend(parts(&target));
            links += 1;
            if links > MAX_LINKS {
                return true;
            }
        }
        false
    }

    /// Whether any word of a command leads into an open place: the program, its arguments, what they are set to. What a shell puts
    /// together first cannot be known, and counts.
    fn runs_open(&self, command: &str) -> bool {
        let is_between = |c: char| c.is_whitespace() || "'\"=;:|&()<>!".contains(c);
        let command = command.replace("${", "$").replace('}', "");
        let words = command.split(is_between).filter(|word| !word.is_empty());
        command.contains('`')
            || command.contains("$(")
            || words.enumerate().any(|(number, word)| {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "`~` and $HOME are meant as a shell takes them"
                )]
                let home = || std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
                let of_home = ["~/", "$HOME/"].iter().find_map(|start| word.strip_prefix(start));
                let path = of_home.map_or_else(|| PathBuf::from(word), |rest| home().join(rest));
                let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
                let is_there = |path: &Path| self.open.iter().any(|open| open.join(path).exists());
                if RUN_THE_FOLDER.contains(&name)
                    || ["$PWD", "$OLDPWD"].iter().any(|start| word.starts_with(start))
                {
                    true
                } else if path.is_absolute() {
                    self.leads_into(&path)
                } else if word.contains('/') {
                    path.iter().next().is_some_and(|first| is_there(first.as_ref()))
                } else {
                    number > 0 && self.open.iter().any(|open| open.join(&path).is_file())
                }
            })
    }

    /// Returns what is to be said.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some((value, left)) = self.variables.get("PATH") {
            let left: Vec<_> = std::env::split_paths(left.as_deref().unwrap_or_default()).collect();
            let gone = std::env::split_paths(value).filter(|folder| !left.contains(folder));
            let named = gone.map(|folder| match folder.display().to_string() {
                name if name.is_empty() => "its empty entry".to_owned(),
                name => format!("`{name}`"),
            });
            let named: Vec<_> = named.collect();
            lines.push(format!(
                "outside of the sandbox the PATH is used without {}: the agent could put programs there",
                named.join(", ")
            ));
        }
        let variables = self.variables.keys().filter(|name| *name != "PATH").map(|name| format!("`{name}`"));
        let settings = self.settings.iter().map(|(key, _)| format!("git's `{key}`"));
        let named: Vec<_> = variables.chain(settings).collect();
        if !named.is_empty() {
            lines.push(format!(
                "not used as set outside of the sandbox: {}: the agent could change what runs then",
                named.join(", ")
            ));
        }
        lines
    }
}

/// Returns with what value git does without the program that a setting of this key names; `None` for settings that name none.
fn replacement(key: &str) -> Option<&'static str> {
    Some(match key {
        "gpg.program" | "gpg.openpgp.program" => "gpg",
        "gpg.x509.program" => "gpgsm",
        "gpg.ssh.program" => "ssh-keygen",
        "core.sshcommand" => "ssh",
        "core.pager" => "cat",
        "core.editor" | "sequence.editor" => "vi",
        "gpg.ssh.defaultkeycommand" | "core.askpass" | "credential.helper" | "gc.recentobjectshook" => "",
        _ if key.starts_with("credential.") && key.ends_with(".helper") => "",
        _ if key.starts_with("pager.") => "false",
        _ if key.starts_with("merge.") && key.ends_with(".driver") => "git merge-file %A %O %B",
        _ => return None,
    })
}

/// Returns true for a key of a setting that names a program.
fn is_program(key: &str) -> bool {
    let of_diff = key
        .strip_prefix("diff.")
        .is_some_and(|rest| rest == "external" || rest.ends_with(".command") || rest.ends_with(".textconv"));
    of_diff || replacement(key).is_some()
}

#[cfg(test)]
mod tests;
