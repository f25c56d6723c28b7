//! The context of a command: the repository, its records, the feature.

use std::io::stderr;

use anyhow::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::clock::Clock;
use crate::feature::{self, Feature, FeatureQuery};
use crate::record::Refusal;
use crate::repository::{AuthorVariables, Repository};
use crate::store::Store;
use crate::tasks;

use super::caller::Caller;
use super::output::warn;

/// Returns the repository that the caller is in, and its records.
pub fn open(caller: &Caller) -> Result<Store> {
    let text =
        |name: &str| caller.environment.value(name).and_then(|value| value.to_str()).map(str::to_owned);
    let author = AuthorVariables { name: text("GIT_AUTHOR_NAME"), email: text("GIT_AUTHOR_EMAIL") };
    let repository = Repository::discover(&caller.start()?, &author)?;
    let store = Store::new(repository.of_user_at(caller.home()));
    Ok(store.warning_with(Some(|message| warn(message, &mut stderr()))))
}

/// Returns the caller's clock.
pub fn clock(caller: &Caller) -> Result<Clock> {
    let start = caller.environment.value(Clock::VARIABLE).map(|start| start.to_string_lossy().into_owned());
    Clock::new(start.as_deref())
}

/// Returns the feature that the flags, the environment or the project name.
pub fn feature(
    caller: &Caller,
    store: &Store,
    flag: Option<&String>,
    tasks_file: Option<&Utf8PathBuf>,
) -> Result<Feature> {
    find(caller, store, flag, tasks_file).map_err(refusal)
}

/// Returns the same for a command that only reads: a flag that names nothing is a wrong name like any other.
pub fn feature_to_read(caller: &Caller, store: &Store, flag: Option<&String>) -> Result<Feature> {
    find(caller, store, flag, None).map_err(|error| if flag.is_some() { error } else { refusal(error) })
}

fn find(
    caller: &Caller,
    store: &Store,
    flag: Option<&String>,
    tasks_file: Option<&Utf8PathBuf>,
) -> Result<Feature> {
    let text =
        |name: &str| caller.environment.value(name).and_then(|value| value.to_str()).map(str::to_owned);
    let query = FeatureQuery {
        flag: flag.cloned(),
        tasks_file: tasks_file.cloned(),
        specify_feature_directory: text("SPECIFY_FEATURE_DIRECTORY"),
        branch: store.branch()?,
        specify_feature: text("SPECIFY_FEATURE"),
    };
    let top = store.repository().work_tree()?;
    let root = feature::project_root(&caller.start()?, top);
    let files = store.repository().project_files()?;
    let has_open_tasks = |path: &Utf8Path| tasks::may_have_open_tasks(&files, path);
    feature::find(&query, &root, &files, &caller.directory, has_open_tasks)
}

/// Returns the feature that a record names by its path, as it is here now.
pub fn recorded_feature(caller: &Caller, store: &Store, path: &str) -> Result<Feature> {
    let place = store.repository().work_tree()?.join(path);
    if place.is_file() {
        feature(caller, store, None, Some(&place))
    } else {
        feature(caller, store, Some(&place.into_string()), None)
    }
}

/// Turns an error before the start into a refusal to start.
pub fn refusal(error: Error) -> Error {
    if error.downcast_ref::<Refusal>().is_some() { error } else { Refusal::new(format!("{error:#}")).into() }
}
