//! The values that a shell can complete: sessions, iterations, features, tasks, agents and settings. Only refs, records
//! of one session, task lists and settings are read; what cannot be read has no values.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::{Arg, ColorChoice, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::agent;
use crate::config::{KEYS, STRATEGIES, ValueKind};
use crate::feature::{self, Feature};
use crate::record::{IterationName, SessionName};
use crate::store::{Row, SessionRefs};
use crate::tasks;

use super::context::Everywhere;
use super::diff::DiffEnd;
use super::settings::load_here;
use super::{Context, Flags};

/// Values that are offered at most; of sessions and iterations, the newest.
const MAX_VALUES: usize = 500;

/// Characters of a description.
const MAX_HELP_CHARS: usize = 60;

/// A value, and what it is.
type Value = (String, String);

/// Lists of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    Sessions,
    Iterations,
    Features,
    Tasks,
    Phases,
    Stories,
    Agents,
    /// `KEY=VALUE`
    Assignments,
    Words(&'static [&'static str]),
}

/// Returns the command, and those below it, with values for their arguments. `words` is the command line so far.
pub fn with_values(command: Command, words: &[OsString]) -> Command {
    fn walk(command: Command, given: &Arc<Given>) -> Command {
        let with_completer = |argument: Arg| match Values::of(&argument) {
            None => argument,
            Some(values) => {
                let given = Arc::clone(given);
                argument.add(ArgValueCompleter::new(move |typed: &OsStr| values.candidates(typed, &given)))
            }
        };
        command.mut_args(with_completer).mut_subcommands(|command| walk(command, given))
    }
    walk(command, &Arc::new(Given::new(words)))
}

/// Returns the names of the features in the project that the command line is about.
pub fn feature_names(words: &[OsString]) -> Result<Vec<String>> {
    // Here the last word is whole.
    let given = Given::new(&[words, &[OsString::new()]].concat());
    Ok(given.features()?.into_iter().map(|(name, _)| name).collect())
}

/// Returns true if a value means the same to every shell without quotes.
pub fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || "._-+@%,=/:".contains(c))
}

impl Values {
    fn of(argument: &Arg) -> Option<Self> {
        if !argument.get_action().takes_values() {
            return None;
        }
        let parsed = argument.get_value_parser().type_id();
        if parsed == TypeId::of::<SessionName>() {
            return Some(Self::Sessions);
        } else if parsed == TypeId::of::<IterationName>() || parsed == TypeId::of::<DiffEnd>() {
            return Some(Self::Iterations);
        }
        let names = argument.get_value_names().unwrap_or_default();
        match (argument.get_id().as_str(), names.first().map_or("", |name| name.as_str())) {
            (_, "FEATURE") => Some(Self::Features),
            ("task", _) => Some(Self::Tasks),
            ("phase", _) => Some(Self::Phases),
            ("story", _) => Some(Self::Stories),
            ("agent", _) => Some(Self::Agents),
            ("set", _) => Some(Self::Assignments),
            (id, _) => words_of(|key| key.replace(['.', '-'], "_") == id).map(Self::Words),
        }
    }

    /// Returns the values that begin like what is typed.
    fn candidates(self, typed: &OsStr, given: &Given) -> Vec<CompletionCandidate> {
        let typed = typed.to_string_lossy();
        // What is before the value on the same word.
        let separator = match self {
            Self::Assignments => Some('='),
            Self::Iterations => Some(':'),
            Self::Tasks | Self::Agents => Some(','),
            Self::Sessions | Self::Features | Self::Phases | Self::Stories | Self::Words(_) => None,
        };
        let kept = separator.and_then(|separator| typed.rfind(separator)).map_or(0, |at| at + 1);
        let (before, begun) = typed.split_at(kept);
        let values = self.values(before, given).unwrap_or_default();
        let fits =
            |(value, _): &Value| is_plain(value) && !value.starts_with('-') && value.starts_with(begun);
        let candidate = |(value, help): Value| {
            let help =
                (!help.is_empty()).then(|| help.chars().take(MAX_HELP_CHARS).collect::<String>().into());
            CompletionCandidate::new(format!("{before}{value}")).help(help)
        };
        values.into_iter().filter(fits).take(MAX_VALUES).map(candidate).collect()
    }

    /// `before` is what is typed before the value.
    fn values(self, before: &str, given: &Given) -> Result<Vec<Value>> {
        match self {
            Self::Sessions => given.sessions(),
            Self::Iterations => given.iterations(before.trim_end_matches(':')),
            Self::Features => given.features(),
            Self::Tasks => tasks_of(&given.feature()?),
            Self::Phases => phases_of(&given.feature()?),
            Self::Stories => stories_of(&given.feature()?),
            Self::Agents => Ok(given.agents()),
            Self::Assignments if before.is_empty() => {
                Ok(KEYS.iter().map(|key| (format!("{}=", key.name), key.doc.to_owned())).collect())
            }
            Self::Assignments if before == "agent=" => Ok(given.agents()),
            Self::Assignments => {
                let words = words_of(|key| before.strip_suffix('=') == Some(key)).unwrap_or_default();
                Ok(plain(words.iter().copied()))
            }
            Self::Words(words) => Ok(plain(words.iter().copied())),
        }
    }
}

/// Returns the words that a setting can be.
fn words_of(is_it: impl Fn(&str) -> bool) -> Option<&'static [&'static str]> {
    match KEYS.iter().find(|key| is_it(key.name))?.kind {
        ValueKind::Word(words) | ValueKind::Words(words) => Some(words),
        ValueKind::Strategy => Some(STRATEGIES),
        ValueKind::Switch => Some(&["true", "false"]),
        ValueKind::Count { .. }
        | ValueKind::Ratio
        | ValueKind::Money
        | ValueKind::Duration
        | ValueKind::Size
        | ValueKind::Text
        | ValueKind::Names
        | ValueKind::Pattern
        | ValueKind::Patterns => None,
    }
}

fn plain<T: Into<String>>(values: impl Iterator<Item = T>) -> Vec<Value> {
    values.map(|value| (value.into(), String::new())).collect()
}

/// Returns the tasks, open ones first.
fn tasks_of(feature: &Feature) -> Result<Vec<Value>> {
    let list = tasks::read(&feature.files, &feature.tasks_path)?;
    let mut tasks: Vec<_> = list.tasks().collect();
    tasks.sort_by_key(|task| task.done);
    Ok(tasks.into_iter().map(|task| (task.name.clone(), task.text.clone())).collect())
}

/// Returns the numbers of the phases: headings have blanks.
fn phases_of(feature: &Feature) -> Result<Vec<Value>> {
    let number = |heading: &str| {
        let digits = heading.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.chars().take_while(char::is_ascii_digit).collect::<String>()
    };
    let list = tasks::read(&feature.files, &feature.tasks_path)?;
    let phases = list.phases().into_iter().map(|phase| phase.name);
    Ok(phases
        .filter(|name| name.to_lowercase().contains("phase"))
        .map(|name| (number(&name), name))
        .collect())
}

fn stories_of(feature: &Feature) -> Result<Vec<Value>> {
    let list = tasks::read(&feature.files, &feature.tasks_path)?;
    Ok(plain(list.stories().into_iter().map(|story| story.name)))
}

/// The flags of the command line so far that decide which values there are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    directory: Option<Utf8PathBuf>,
    feature: Option<String>,
    session: Option<String>,
    tasks_file: Option<Utf8PathBuf>,
}

impl Given {
    fn new(words: &[OsString]) -> Self {
        let mut given = Self::default();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        for (at, word) in words.iter().enumerate() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) if word.starts_with("--") => (flag, Some(value)),
                // The word under the cursor is the last one, and not a value yet.
                _ => (word.as_ref(), words[..words.len() - 1].get(at + 1).map(AsRef::as_ref)),
            };
            let Some(value) = value.map(str::to_owned) else { continue };
            match flag {
                "-C" => given.directory = Some(value.into()),
                "--feature" => given.feature = Some(value),
                "--session" => given.session = Some(value),
                "--tasks" | "--file" => given.tasks_file = Some(value.into()),
                _ => {}
            }
        }
        given
    }

    fn context(&self) -> Result<Context> {
        let everywhere = Everywhere { directory: self.directory.clone(), color: ColorChoice::Never };
        Context::new(&everywhere)
    }

    /// Returns a context with records, which warns of nothing.
    fn repository(&self) -> Result<Context> {
        self.context()?.without_warnings()
    }

    /// Returns the refs of the sessions, newest first, of one feature if the command line names it.
    fn refs(&self) -> Result<Vec<SessionRefs>> {
        let context = self.repository()?;
        let store = context.store()?;
        let mut refs = store.session_names()?;
        if self.feature.is_some() {
            let feature = context.feature_to_read(self.feature.as_ref())?;
            refs.retain(|refs| refs.is_of(&feature.path));
        }
        refs.reverse();
        Ok(refs)
    }

    fn sessions(&self) -> Result<Vec<Value>> {
        let feature = |refs: &SessionRefs| {
            let log = refs.log();
            log.rsplit('/').nth(1).unwrap_or_default().to_owned()
        };
        Ok(self.refs()?.iter().map(|refs| (refs.session.to_string(), feature(refs))).collect())
    }

    /// Returns the iterations of the session that begins like this, else of the one that the flags name.
    fn iterations(&self, session: &str) -> Result<Vec<Value>> {
        let refs = self.refs()?;
        let begins = if session.is_empty() { self.session.as_deref().unwrap_or_default() } else { session };
        let wanted = refs.iter().find(|refs| refs.session.as_str().starts_with(begins));
        let wanted = wanted.context("there is no session")?;
        let context = self.repository()?;
        let listing = context.store()?.listing(|refs| refs == wanted, &mut Vec::new())?;
        let rows = listing.sessions().flat_map(|session| session.rows());
        let mut iterations: Vec<Value> = rows
            .filter(Row::is_iteration)
            .map(|row| {
                let outcome = row.outcome.as_ref().map(ToString::to_string).unwrap_or_default();
                (row.iteration.to_string(), format!("{} {outcome}", row.task().unwrap_or_default()))
            })
            .collect();
        iterations.reverse();
        Ok(iterations)
    }

    fn features(&self) -> Result<Vec<Value>> {
        let context = self.repository()?;
        let files = context.work_tree()?.project_files()?;
        Ok(plain(feature::names(&context.project_root()?, &files)?.into_iter()))
    }

    fn feature(&self) -> Result<Feature> {
        self.repository()?.feature(self.feature.as_ref(), self.tasks_file.as_ref())
    }

    /// Returns the agents that are known, and those of the settings.
    fn agents(&self) -> Vec<Value> {
        let mut names: Vec<String> = agent::names().map(str::to_owned).collect();
        if let Ok((_, config)) = self.context().and_then(|context| load_here(&context, Flags::default())) {
            names.extend(config.agents.into_keys());
        }
        names.sort();
        names.dedup();
        plain(names.into_iter())
    }
}
