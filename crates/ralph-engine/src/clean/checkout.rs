//! The clean checkout itself: what is laid into it, and what runs there.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use failure_excerpt::NamedTest;
use redact_stream::Redactor;
use serde_json::json;

use ralph_core::config::Settings;
use ralph_core::judge::clean::CleanRun;
use ralph_core::record::{ExitReason, ObjectId, SetupRun, Validation};
use ralph_git::repository::Repository;
use ralph_git::worktree::WorkTree;
use ralph_os::clock::Clock;
use ralph_os::platform::{changed_at, repo_path};
use ralph_os::process::{Interrupt, Marker, create_private_dir, kill_marked, remove_path};
use ralph_os::sandbox::{Fence, Sandbox, toolchains};
use ralph_project::feature::FEATURE_FILE;
use ralph_store::{CheckoutLock, Slot, ValidationTurn, disk_free, names};

use crate::begin::pathspecs;
use crate::iteration_context::{tally, validation_cause};
use crate::settings::validation_limits;
use crate::test_reports::reported;
use crate::users_tree::UsersTree;
use crate::validate::{self, ValidationContext};

use super::copies::KeptCopies;

/// How often it is asked whether another session has left the checkout.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Variables by which installers find their caches, with the folders beside the checkout that they get. What is linked from a shared one
/// could be edited there.
const CACHES: &[(&str, &str)] = &[
    ("UV_CACHE_DIR", "uv"),
    ("PIP_CACHE_DIR", "pip"),
    ("npm_config_cache", "npm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("COMPOSER_CACHE_DIR", "composer"),
];

/// The same for pnpm, which takes them from the names of npm's settings; npm itself warns of this one.
const PNPM_STORE: (&str, &str) = ("npm_config_store_dir", "pnpm");

/// The folders among the caches that are home and temporary files of what runs without a fence.
const HOME: &str = "home";
const TEMPORARY: &str = "tmp";

/// The files of a slot that a command prints into.
const OUTPUTS: [&str; 2] = [names::VALIDATION_STDOUT, names::VALIDATION_STDERR];

/// A file of a slot that is written as the validation begins: reports that are older are not its own.
const BEGAN: &str = "began";

/// The note of what a checkout took of the disk, in bytes.
const TAKEN: &str = "taken";

/// Where and how results are tried. Many fields: what a session has together, and `verify` puts together alone.
pub struct CleanPlace<'a> {
    /// The checkout.
    pub work_tree: WorkTree,
    /// The top of the work tree that the trees are of.
    pub from: Utf8PathBuf,
    /// The user's work tree, which nothing may lead to, and which has what `lanes.copy` names.
    pub users_tree: &'a UsersTree,
    /// The project's root, from the top.
    pub project: Utf8PathBuf,
    /// The folder of the feature, from the project's root, for what spec-kit notes.
    pub feature: Option<Utf8PathBuf>,
    pub settings: &'a Settings,
    pub sandbox: Option<Arc<Sandbox>>,
    /// True if each run has a home folder, temporary files and caches of its own, and nothing that the user put beside the files.
    pub is_private: bool,
    /// The variables that a validation gets, as in place.
    pub environment: Vec<(String, String)>,
    pub marker: Marker,
    /// The branch of other loops, whose validations are not to run beside one in the checkout.
    pub group: Option<(&'a Repository, &'a str)>,
    pub clock: &'a Clock,
    pub interrupt: &'a Interrupt,
    pub redactor: &'a Redactor,
    /// Where objects of trees may be that are not in the repository yet.
    pub objects: Option<Utf8PathBuf>,
    /// A folder for what the commands print.
    pub scratch: Utf8PathBuf,
}

/// A checkout that no other session uses.
pub struct CleanCheckout<'a> {
    place: CleanPlace<'a>,
    copies: Option<KeptCopies>,
    fences: Option<[Fence; 2]>,
    _lock: CheckoutLock,
}

/// A run, and what the record has of it beside the verdict.
#[derive(Debug, Clone)]
pub struct Tried {
    pub run: CleanRun,
    pub setup: Option<SetupRun>,
    /// Of the validation.
    pub exit: Option<i32>,
    /// Where the streams of the validation are.
    pub slot: Slot,
}

impl Tried {
    /// Copies what was printed to where a record is put together; of a validation under its own name where that is an attempt's, which
    /// has run its own.
    pub fn copy_to(&self, slot: &Slot, is_attempt: bool) -> Result<()> {
        let of_setup = self.slot.path("setup");
        let [stdout, stderr] = if is_attempt { [names::CLEAN_STDOUT, names::CLEAN_STDERR] } else { OUTPUTS };
        for (from, to) in [
            (self.slot.path(names::VALIDATION_STDOUT), stdout),
            (self.slot.path(names::VALIDATION_STDERR), stderr),
            (of_setup.join(names::VALIDATION_STDOUT), names::SETUP_STDOUT),
            (of_setup.join(names::VALIDATION_STDERR), names::SETUP_STDERR),
        ] {
            fs::copy(&from, slot.path(to)).with_context(|| format!("copy {from}"))?;
        }
        Ok(())
    }
}

impl<'a> CleanCheckout<'a> {
    /// Waits until no other session uses it. `None` if a signal came first.
    pub fn take(place: CleanPlace<'a>) -> Result<Option<Self>> {
        let clean = &place.work_tree;
        let lock = loop {
            if let Some(lock) = CheckoutLock::try_take(clean)? {
                break lock;
            }
            if place.interrupt.signal().is_some() {
                return Ok(None);
            }
            place.interrupt.pause(POLL_INTERVAL);
        };
        // What a killed run left would write into the next one.
        kill_marked(&Marker::of_work_tree(clean.top()), place.interrupt);
        let copies = Some(place.users_tree.top()).filter(|_| !place.is_private);
        let copies = copies.and_then(|top| KeptCopies::of(clean, top, &place.project, place.settings));
        create_private_dir(clean.top())?;
        let new = Self { place, copies, fences: None, _lock: lock };
        // Each private run makes its own.
        let fences = if new.place.is_private { None } else { new.make_fences()? };
        Ok(Some(Self { fences, ..new }))
    }

    /// Makes the folders that commands can write, and the fence around them, for the setup and for checks.
    fn make_fences(&self) -> Result<Option<[Fence; 2]>> {
        let clean = &self.place.work_tree;
        let caches = clean.lane().context("this is no clean checkout")?.caches_dir();
        if self.place.is_private {
            remove_path(&caches)?;
        }
        create_private_dir(&caches)?;
        for folder in [HOME, TEMPORARY].iter().filter(|_| self.place.is_private) {
            create_private_dir(&caches.join(folder))?;
        }
        let Some(sandbox) = &self.place.sandbox else { return Ok(None) };
        let inside = sandbox.around(vec![clean.top().to_owned(), caches])?;
        Ok(Some([inside.for_setup(), inside.for_checks()]))
    }

    /// Returns the checkout as git sees it.
    pub fn work_tree(&self) -> &WorkTree {
        &self.place.work_tree
    }

    /// Returns the project's root, from the top.
    pub fn project(&self) -> &Utf8Path {
        &self.place.project
    }

    /// Returns true if a command sets it up.
    pub fn has_setup(&self) -> bool {
        self.place.settings.lanes_setup.is_some()
    }

    /// Returns globs for files that agents may not change.
    pub fn protected(&self) -> &[String] {
        &self.place.settings.validation_protect
    }

    /// Removes it with all that is beside it.
    pub fn remove(self) -> Result<()> {
        self.place.work_tree.remove_lane()
    }

    /// Runs setup and validation on a tree, with the commit `head` checked out as git commands see it. `is_fresh`: nothing is kept of
    /// earlier runs. The streams are in a folder of that name until the next run of the same name. What fails on our side, as where the
    /// disk is full, says nothing of the tree.
    pub fn run(&self, tree: &ObjectId, head: Option<&ObjectId>, is_fresh: bool, name: &str) -> Result<Tried> {
        self.run_set_up(tree, head, is_fresh, name, self.place.settings.lanes_setup.as_deref())
    }

    /// Does the same with another setup than that of the settings.
    pub fn run_set_up(
        &self,
        tree: &ObjectId,
        head: Option<&ObjectId>,
        is_fresh: bool,
        name: &str,
        setup: Option<&str>,
    ) -> Result<Tried> {
        let slot = Slot::within(&self.place.scratch.join(name));
        slot.create()?;
        let of_setup = Slot::within(&slot.path("setup"));
        of_setup.create()?;
        for slot in [&slot, &of_setup] {
            // Streams are appended to.
            OUTPUTS.iter().try_for_each(|name| slot.write(name, b""))?;
        }
        let mut tried = Tried { run: CleanRun::default(), setup: None, exit: None, slot };
        if let Some(why) = self.lacks_space()? {
            tried.run.unusable = Some(why);
            return Ok(tried);
        }
        let tree_is_laid = self.lay_out(tree, head, is_fresh);
        if let Err(error) = tree_is_laid.and_then(|()| self.try_out(&mut tried, &of_setup, setup)) {
            tried.run.unusable = Some(format!("{error:#}"));
        }
        Ok(tried)
    }

    fn try_out(&self, tried: &mut Tried, of_setup: &Slot, setup: Option<&str>) -> Result<()> {
        let settings = self.place.settings;
        let of_run = if self.place.is_private { self.make_fences()? } else { self.fences.clone() };
        let [setup_fence, check_fence] = of_run.map_or([None, None], |fences| fences.map(Some));
        tried.run.unusable = self.leak()?;
        if tried.run.unusable.is_some() {
            return Ok(());
        }
        if let Some(command) = setup {
            let ran = self.execute(command, of_setup, setup_fence)?;
            tried.setup = Some(SetupRun { exit: ran.exit.code, duration_ms: ran.duration_ms });
            tried.run.unusable = stopped(&ran).map_or_else(|| self.leak(), |why| Ok(Some(why)))?;
            if !ran.exit.is_success() {
                let words = self.cause(of_setup, &ran)?;
                tried.run.cause = Some(format!("`{command}` (lanes.setup): {words}"));
            }
        }
        tried.run.is_set_up = tried.run.cause.is_none() && tried.run.unusable.is_none();
        if let Some(command) = settings.validation_command.as_ref().filter(|_| tried.run.is_set_up) {
            let mut pause = || {
                self.place.interrupt.pause(POLL_INTERVAL);
                self.place.interrupt.signal().is_none()
            };
            let turn = self
                .place
                .group
                .map(|(repository, branch)| ValidationTurn::wait(repository, branch, true, &mut pause));
            let _turn = turn.transpose()?;
            tried.slot.write(BEGAN, b"")?;
            let ran = self.execute(command, &tried.slot, check_fence)?;
            tried.exit = Some(ran.exit.code);
            tried.run.unusable = stopped(&ran);
            tried.run.passed = ran.exit.is_success();
            let [stdout, stderr] = OUTPUTS;
            let printed = tally(&tried.slot, stdout, stderr, self.place.redactor, &self.root())?;
            tried.run.tests = match self.reported(&tried.slot) {
                Ok(Some(tests)) => printed.with_report(tests),
                // As in place: without a report the output counts.
                Ok(None) | Err(_) => printed,
            };
            if !tried.run.passed {
                tried.run.cause = Some(self.cause(&tried.slot, &ran)?);
            }
        }
        let note = self.place.work_tree.git_dir().join(TAKEN);
        fs::write(&note, self.place.work_tree.bytes_in_lane().to_string())
            .with_context(|| format!("write {note}"))
    }

    /// Returns the tests of the reports that the validation wrote; `None` if no setting names any.
    fn reported(&self, slot: &Slot) -> Result<Option<Vec<NamedTest>>> {
        let CleanPlace { work_tree, settings, redactor, .. } = &self.place;
        if settings.validation_report.is_empty() {
            return Ok(None);
        }
        let globs = pathspecs(work_tree, &self.root(), &settings.validation_report);
        let began = changed_at(&fs::metadata(slot.path(BEGAN))?);
        reported(work_tree, &work_tree.project_files()?, &globs, began, redactor).map(Some)
    }

    /// Returns what of `lanes.copy` an agent changed: the checkout has it as it was before.
    pub fn changed_by_agents(&self) -> Vec<String> {
        self.copies.as_ref().map(KeptCopies::changed_by_agents).unwrap_or_default()
    }

    /// Returns what would have commands here run what is in the user's files.
    fn leak(&self) -> Result<Option<String>> {
        let CleanPlace { users_tree, work_tree, settings, .. } = &self.place;
        let commands = [&settings.lanes_setup, &settings.validation_command];
        let named = commands.into_iter().flatten().find_map(|command| {
            let named = users_tree.named_by(command, &self.root())?;
            Some(format!("`{command}` names {named}, which is in your work tree"))
        });
        match named {
            Some(named) => Ok(Some(named)),
            None => Ok(users_tree.leak(work_tree)?.map(|leak| leak.words())),
        }
    }

    /// Returns the project's root.
    pub fn root(&self) -> Utf8PathBuf {
        self.place.work_tree.top().join(&self.place.project)
    }

    /// Makes the files those of the tree, with what people put beside them.
    fn lay_out(&self, tree: &ObjectId, head: Option<&ObjectId>, is_fresh: bool) -> Result<()> {
        let CleanPlace { work_tree, project, settings, feature, .. } = &self.place;
        let kept = match settings.lanes_keep.as_slice() {
            [] if self.place.from.join(project).join("Cargo.toml").is_file() => vec!["target".to_owned()],
            named => named.to_vec(),
        };
        let kept = if is_fresh { Vec::new() } else { kept };
        let kept: Vec<_> = kept.iter().map(|path| repo_path(&project.join(path))).collect();
        let objects = self.place.objects.as_deref();
        work_tree.take_checkout_to((tree, objects), head, &kept)?;
        if let Some(copies) = &self.copies {
            copies.lay(work_tree)?;
        }
        // It belongs to a checkout, so that no tree has it.
        let (root, files) = (self.root(), work_tree.project_files()?);
        let note = root.join(FEATURE_FILE);
        if let Some(feature) = feature
            && note.parent().is_some_and(Utf8Path::is_dir)
            && note.symlink_metadata().is_err()
        {
            let text = format!("{}\n", json!({ "feature_directory": repo_path(feature) }));
            files.create_new(&note, text.as_bytes()).with_context(|| format!("write {note}"))?;
        }
        Ok(())
    }

    fn execute(&self, command: &str, slot: &Slot, fence: Option<Fence>) -> Result<Validation> {
        let [stdout, stderr] = OUTPUTS;
        let place = &self.place;
        let context = ValidationContext {
            directory: self.root(),
            environment: self.environment(fence.as_ref()),
            stdout: slot.path(stdout),
            stderr: slot.path(stderr),
            marker: place.marker.clone().in_work_tree(place.work_tree.top()),
            limits: validation_limits(place.settings),
            clock: place.clock,
            fence,
        };
        validate::run(command, &context, place.interrupt)
    }

    /// Returns the variables of a command: as in place, with what names the work tree naming the checkout.
    fn environment(&self, fence: Option<&Fence>) -> Vec<(String, String)> {
        let CleanPlace { work_tree, from, users_tree, environment, settings, .. } = &self.place;
        let Some(lane) = work_tree.lane() else { return Vec::new() };
        let own = environment.iter().map(|(name, value)| {
            let below = Utf8Path::new(value).strip_prefix(from);
            (name.clone(), below.map_or_else(|_| value.clone(), |below| work_tree.top().join(below).into()))
        });
        let mut moved = users_tree.environment_in(work_tree.top());
        moved.retain(|(name, value)| !fence.is_some_and(|fence| fence.drops(name, value)));
        let caches = lane.caches_dir();
        let has_pnpm = self.root().join("pnpm-lock.yaml").is_file();
        let names = CACHES.iter().chain(has_pnpm.then_some(&PNPM_STORE));
        let of_caches = names
            .filter(|_| settings.lanes_setup.is_some())
            .map(|(name, folder)| ((*name).to_owned(), caches.join(folder).into_string()));
        own.chain(moved)
            .chain(lane.variables())
            .chain(of_caches)
            .chain(self.private_variables(fence))
            .collect()
    }

    /// Returns what leads commands away from the user's home folder where no fence does.
    fn private_variables(&self, fence: Option<&Fence>) -> Vec<(String, String)> {
        let CleanPlace { work_tree, is_private, .. } = &self.place;
        let Some(lane) = work_tree.lane().filter(|_| *is_private && fence.is_none()) else {
            return Vec::new();
        };
        let home = lane.caches_dir().join(HOME);
        let below = |name: &'static str, path: &str| (name, home.join(path).into_string());
        let mut set = work_tree.home().map_or_else(Vec::new, |home| toolchains(home.into()));
        set.extend([
            ("HOME", home.to_string()),
            ("TMPDIR", lane.caches_dir().join(TEMPORARY).into_string()),
            below("XDG_CACHE_HOME", ".cache"),
            below("XDG_CONFIG_HOME", ".config"),
            below("XDG_DATA_HOME", ".local/share"),
            below("XDG_STATE_HOME", ".local/state"),
        ]);
        set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns why a command failed, on one line.
    fn cause(&self, slot: &Slot, ran: &Validation) -> Result<String> {
        let found = validation_cause(slot, ran, self.place.redactor, &self.root())?;
        Ok(found.map_or_else(|| format!("exit {}", ran.exit.code), |(words, _)| words))
    }

    /// Returns why there is no space for as much as the last checkout took.
    fn lacks_space(&self) -> Result<Option<String>> {
        let place = &self.place.work_tree;
        let note = fs::read_to_string(place.git_dir().join(TAKEN)).unwrap_or_default();
        let taken: u64 = note.trim().parse().unwrap_or(0);
        let needed = taken.saturating_sub(place.bytes_in_lane());
        let free = disk_free(place.top())?;
        Ok((needed > free)
            .then(|| format!("the disk has {free} bytes free, and a checkout takes {needed} more")))
    }
}

/// Returns why a run says nothing: it was stopped.
fn stopped(ran: &Validation) -> Option<String> {
    let reason = ran.exit.reason.filter(|reason| *reason != ExitReason::StartFailed)?;
    Some(format!("`{}` {}", ran.command, reason.description()))
}
