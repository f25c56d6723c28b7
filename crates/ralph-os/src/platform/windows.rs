//! Windows. There are no process groups, sessions, zombies, modes and signals but Ctrl-C and its like: a job of the system's
//! ends what we started when we end, however that comes.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsHandle;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::UNIX_EPOCH;

use camino::{Utf8Path, Utf8PathBuf};
use tokio::runtime::Runtime;
use tokio::signal::windows as console;

use super::Identity;

pub const NULL_DEVICE: &str = "NUL";

// The numbers by which records name signals are those of Unix.
pub const SIGHUP: i32 = 1;
pub const SIGINT: i32 = 2;
pub const SIGQUIT: i32 = 3;
pub const SIGUSR1: i32 = 10;
pub const SIGUSR2: i32 = 12;
pub const SIGTERM: i32 = 15;
/// Never comes.
pub const SIGTSTP: i32 = 20;

/// What can be asked of a process. It is only done for [`Signal::KILL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    pub const INT: Self = Self(SIGINT);
    pub const KILL: Self = Self(9);
    pub const TERM: Self = Self(SIGTERM);
    pub const CONT: Self = Self(18);
    pub const STOP: Self = Self(19);

    pub const fn as_raw(self) -> i32 {
        self.0
    }
}

const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
/// The exit code of a program that Ctrl-C ended.
const STATUS_CONTROL_C_EXIT: u32 = 0xC000_013A;

pub const ENDING_SIGNALS: &[i32] = &[SIGINT, SIGTERM, SIGHUP];

/// Who may make files in a folder is only known by making one.
pub fn is_writable(_folder: &Path) -> bool {
    true
}

pub fn signal_name(signal: i32) -> Option<&'static str> {
    match signal {
        SIGHUP => Some("SIGHUP"),
        SIGINT => Some("SIGINT"),
        SIGTERM => Some("SIGTERM"),
        _ => None,
    }
}

pub const CAN_ASK_TO_END: bool = false;

/// Calls `came` for Ctrl-C, for Ctrl-Break as SIGTERM, and as SIGHUP where the window is closed or the user logs off.
pub fn listen(_signals: Vec<i32>, came: impl Fn(i32) + Clone + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    {
        let _entered = runtime.enter();
        forward(&runtime, console::ctrl_c()?, console::CtrlC::poll_recv, SIGINT, came.clone());
        forward(&runtime, console::ctrl_break()?, console::CtrlBreak::poll_recv, SIGTERM, came.clone());
        forward(&runtime, console::ctrl_close()?, console::CtrlClose::poll_recv, SIGHUP, came.clone());
        forward(&runtime, console::ctrl_logoff()?, console::CtrlLogoff::poll_recv, SIGHUP, came.clone());
        forward(&runtime, console::ctrl_shutdown()?, console::CtrlShutdown::poll_recv, SIGHUP, came);
    }
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(std::future::pending::<()>())).map(drop)
}

fn forward<E: Send + 'static>(
    runtime: &Runtime,
    mut events: E,
    poll: fn(&mut E, &mut Context<'_>) -> Poll<Option<()>>,
    signal: i32,
    came: impl Fn(i32) + Send + 'static,
) {
    drop(runtime.spawn(async move {
        while poll_fn(|context| poll(&mut events, context)).await.is_some() {
            came(signal);
        }
    }));
}

pub fn note_signals(signals: Vec<i32>, last: &Arc<AtomicUsize>) -> io::Result<()> {
    let last = Arc::clone(last);
    listen(signals, move |signal| last.store(usize::try_from(signal).unwrap_or(0), Ordering::SeqCst))
}

pub fn default_action(signal: i32) {
    std::process::exit(128 + signal);
}

pub fn exit_now(code: i32) -> ! {
    std::process::exit(code)
}

/// There are no groups: their members are found and ended one by one.
pub fn signal_group(_pid: i32, _signal: Signal) {}

pub fn signal_process(pid: i32, signal: Signal) {
    if signal == Signal::KILL {
        with_process(pid, sysinfo::Process::kill);
    }
}

fn with_process<T>(pid: i32, read: impl FnOnce(&sysinfo::Process) -> T) -> Option<T> {
    let pid = sysinfo::Pid::from_u32(pid.cast_unsigned());
    let mut system = sysinfo::System::new();
    let kind = sysinfo::ProcessRefreshKind::nothing();
    system.refresh_processes_specifics(sysinfo::ProcessesToUpdate::Some(&[pid]), true, kind);
    system.process(pid).map(read)
}

pub fn reap(_pid: i32) {}

pub fn group_of(_pid: i32) -> Option<i32> {
    Some(0)
}

pub fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

pub fn parent_id() -> u32 {
    let parent = with_process(own_pid(), |process| process.parent().map(sysinfo::Pid::as_u32));
    parent.flatten().unwrap_or(0)
}

pub fn is_stopped_by_terminal(_pid: i32) -> bool {
    false
}

/// It has a console of its own, without a window.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW)
}

pub fn start_session() {
    end_children_with_us();
}

/// Puts us into a job that the system ends when we are gone, with all that we start from now on.
pub fn end_children_with_us() {
    static JOB: OnceLock<win32job::Job> = OnceLock::new();
    let mut limits = win32job::ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    // Where jobs cannot be nested, what is left running is found by its parents.
    if let Ok(job) = win32job::Job::create_with_limit_info(&limits)
        && job.assign_current_process().is_ok()
    {
        let _first = JOB.set(job).is_ok();
    }
}

/// Runs the program with our streams and ends with its exit code: no process can become another program.
pub fn become_program(command: &mut Command) -> io::Error {
    // A Ctrl-C is for the program, which has our console.
    let _ignored = listen(Vec::new(), |_| {}).is_ok();
    match command.status() {
        Ok(status) => std::process::exit(code_of(status)),
        Err(error) => error,
    }
}

pub fn with_default_signals(_signals: Vec<i32>, exec: impl FnOnce() -> io::Error) -> io::Result<i32> {
    Err(exec())
}

pub fn code_of(status: ExitStatus) -> i32 {
    match status.code() {
        Some(code) if code.cast_unsigned() == STATUS_CONTROL_C_EXIT => 128 + SIGINT,
        code => code.unwrap_or(-1),
    }
}

pub fn is_root() -> bool {
    false
}

pub fn host_name() -> String {
    sysinfo::System::host_name().unwrap_or_default()
}

/// Returns what names this start of the machine: nothing here does.
pub fn boot_id() -> Option<String> {
    None
}

/// The shell that comes with git, by which git runs hooks, too; else one on the PATH.
fn shell() -> Option<&'static Path> {
    static SHELL: OnceLock<Option<PathBuf>> = OnceLock::new();
    SHELL
        .get_or_init(|| on_path("git").as_deref().and_then(shell_of_git).or_else(|| on_path("sh")))
        .as_deref()
}

/// `C:\Program Files\Git\cmd\git.exe` has it in `..\bin`; that one sets the PATH for the tools beside it.
fn shell_of_git(git: &Path) -> Option<PathBuf> {
    let above = git.ancestors().skip(2).take(2);
    let mut places =
        above.flat_map(|folder| ["bin/sh.exe", "usr/bin/sh.exe"].map(|place| folder.join(place)));
    places.find(|path| path.is_file())
}

fn on_path(name: &str) -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the system itself does not look for all kinds of programs"
    )]
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.flat_map(|folder| files_of(&folder.join(name))).find(|path| is_program(path))
}

/// The files that may be meant by the path of a program.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return vec![path.to_owned()] };
    program_names(name).iter().map(|name| path.with_file_name(name)).collect()
}

/// Of the extensions in PATHEXT those that are programs for us, too.
fn extensions() -> Vec<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the system itself does not look for all kinds of programs"
    )]
    let listed = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".to_owned());
    let known = [".com", ".exe", ".bat", ".cmd"];
    listed.split(';').map(str::to_ascii_lowercase).filter(|one| known.contains(&one.as_str())).collect()
}

pub fn program_names(name: &str) -> Vec<String> {
    if has_extension(Path::new(name)) {
        return vec![name.to_owned()];
    }
    extensions().into_iter().map(|extension| format!("{name}{extension}")).collect()
}

fn has_extension(path: &Path) -> bool {
    let own = path.extension().map(|own| format!(".{}", own.to_string_lossy().to_ascii_lowercase()));
    own.is_some_and(|own| extensions().contains(&own))
}

pub fn program_name(path: &Path) -> Option<&str> {
    if has_extension(path) { path.file_stem()?.to_str() } else { path.file_name()?.to_str() }
}

/// Also a `.cmd`, as npm makes them. `sh` is the one that comes with git.
pub fn program(name: &OsStr) -> OsString {
    let found = match name.to_str() {
        Some("sh") => shell().map(Path::to_owned),
        Some(name) if !is_path(name) => on_path(name),
        _ => files_of(Path::new(name)).into_iter().find(|path| path.is_file()),
    };
    found.map_or_else(|| name.to_owned(), PathBuf::into_os_string)
}

/// The system looks for no tool by itself.
pub fn tool(name: &OsStr) -> OsString {
    program(name)
}

pub fn is_path(program: &str) -> bool {
    program.contains(['/', '\\', ':'])
}

/// `cmd.exe` runs such a file, and ends its command line at a line break.
pub fn takes_single_lines_only(program_to_start: &str) -> bool {
    let file = program(program_to_start.as_ref());
    let extension = Path::new(&file).extension();
    extension.is_some_and(|own| own.eq_ignore_ascii_case("cmd") || own.eq_ignore_ascii_case("bat"))
}

pub fn is_program(path: &Path) -> bool {
    has_extension(path) && path.is_file()
}

pub fn may_run(path: &Path) -> bool {
    files_of(path).iter().any(|path| is_program(path))
}

pub fn is_executable(_found: &Metadata) -> Option<bool> {
    None
}

pub fn mode(found: &Metadata) -> u32 {
    if found.permissions().readonly() { 0o444 } else { 0o666 }
}

/// Of a mode only the right to write means anything.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    fs::set_permissions(path, permissions)
}

/// What was made by us can be written, which is all that it needs.
pub fn set_mode_of(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Makes a link, for which the user may need a right that not everybody has.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (target, link) = (target.as_ref(), link.as_ref());
    let leads_to = link.parent().map_or_else(|| target.to_owned(), |folder| folder.join(target));
    if leads_to.is_dir() {
        std::os::windows::fs::symlink_dir(target, link)
    } else {
        std::os::windows::fs::symlink_file(target, link)
    }
}

/// Of the link itself, where it is one.
pub fn identity(path: &Path, found: &Metadata) -> Option<Identity> {
    let link = if found.is_symlink() { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 };
    let mut options = OpenOptions::new();
    // Neither to read nor to write: only to look at it.
    options.access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link);
    identity_of(&options.open(path).ok()?).ok()
}

pub fn identity_of(file: &File) -> io::Result<Identity> {
    let found = winapi_util::file::information(file)?;
    Ok((found.volume_serial_number(), found.file_index()))
}

/// A file that is written to is not told from others here.
pub fn own_outputs() -> Vec<Identity> {
    Vec::new()
}

/// When the content changed: that is all that is known.
pub fn changed_at(found: &Metadata) -> (i64, i64) {
    let since = found.modified().ok().and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.map_or((0, 0), |since| (since.as_secs().cast_signed(), i64::from(since.subsec_nanos())))
}

/// The folders of a user are closed to others already.
pub fn private_dirs() -> DirBuilder {
    DirBuilder::new()
}

pub fn with_mode(_mode: u32) -> OpenOptions {
    OpenOptions::new()
}

pub fn without_links(_mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    options
}

/// Folders, too.
pub fn without_wait(_mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    options
}

/// A folder above that becomes a link at this moment is not noticed.
pub fn open_below(top: &Utf8Path, path: &Utf8Path) -> io::Result<Option<File>> {
    let mut at = top.to_owned();
    for component in path.components() {
        at.push(component.as_str());
        match at.symlink_metadata() {
            Ok(found) if !found.is_symlink() => {}
            Ok(_) => return Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    without_links(0).read(true).open(at).map(Some)
}

/// Folders cannot be synced, and need not be: the file system has a journal of names.
pub fn sync(file: &File, path: &Path) -> io::Result<()> {
    if file.metadata()?.is_dir() {
        return Ok(());
    }
    // What was opened to read cannot be synced.
    match OpenOptions::new().write(true).open(path) {
        // git's objects are read-only, and synced by git.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        opened => opened?.sync_all(),
    }
}

/// git's objects are read-only, and not every file system removes such files.
pub fn remove_dir_all(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_writable(dir)?;
            fs::remove_dir_all(dir)
        }
        removed => removed,
    }
}

fn make_writable(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            make_writable(&entry.path())?;
        } else if found.permissions().readonly() && !found.is_symlink() {
            set_mode(&entry.path(), 0o600)?;
        }
    }
    Ok(())
}

pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    fs4::available_space(dir)
}

/// Without `\\?\`, which git and most programs do not understand.
pub fn canonicalize(path: &Utf8Path) -> io::Result<Utf8PathBuf> {
    Utf8PathBuf::try_from(dunce::canonicalize(path)?).map_err(io::Error::other)
}

/// git has UTF-8 there.
pub fn bytes_of(name: &OsStr) -> Cow<'_, [u8]> {
    match name.to_string_lossy() {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

pub fn os_str(bytes: &[u8]) -> Cow<'_, OsStr> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(OsStr::new(text)),
        Cow::Owned(text) => Cow::Owned(text.into()),
    }
}

pub fn os_string(bytes: Vec<u8>) -> OsString {
    os_str(&bytes).into_owned()
}

pub fn columns(of: impl AsHandle) -> Option<u16> {
    terminal_size::terminal_size_of(of).map(|(width, _)| width.0).filter(|columns| *columns > 0)
}
