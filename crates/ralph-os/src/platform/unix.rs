//! Unix. What only Linux has is beside what uses it.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{Access, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions};
use signal_hook::consts;

use super::Identity;

pub use rustix::process::Signal;
pub use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
pub use signal_hook::low_level::signal_name;
pub use std::os::unix::fs::symlink;
pub use std::os::unix::process::parent_id;

/// A file that swallows what is written, and is empty.
pub const NULL_DEVICE: &str = "/dev/null";

/// The signals of all systems that end a program that does not listen to them, but for those by which the system reports
/// an error of the program itself, and SIGPIPE, which the Rust runtime ignores.
pub const ENDING_SIGNALS: &[i32] = &[
    SIGINT,
    SIGTERM,
    SIGHUP,
    SIGQUIT,
    SIGUSR1,
    SIGUSR2,
    consts::SIGALRM,
    consts::SIGVTALRM,
    consts::SIGPROF,
    consts::SIGXCPU,
    consts::SIGXFSZ,
];

/// True if a process can be asked to end, and may take time for that.
pub const CAN_ASK_TO_END: bool = true;

/// Calls `came` for each of these signals, in a thread of its own.
pub fn listen(signals: Vec<i32>, came: impl Fn(i32) + Clone + Send + 'static) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || signals.forever().for_each(came)).map(drop)
}

/// Writes the number of each of these signals into `last` when it comes.
pub fn note_signals(signals: Vec<i32>, last: &Arc<AtomicUsize>) -> io::Result<()> {
    for signal in signals {
        let number = usize::try_from(signal).map_err(io::Error::other)?;
        signal_hook::flag::register_usize(signal, Arc::clone(last), number)?;
    }
    Ok(())
}

/// Does what a signal does to who does not listen to it.
pub fn default_action(signal: i32) {
    let _done = signal_hook::low_level::emulate_default_handler(signal).is_ok();
}

/// Ends this process without any clean-up.
pub fn exit_now(code: i32) -> ! {
    signal_hook::low_level::exit(code)
}

/// Sends a signal to a process group. Who is gone needs none; who may not be signalled cannot be helped.
pub fn signal_group(pid: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(pid) {
        let _gone = rustix::process::kill_process_group(group, signal);
    }
}

/// Sends a signal to a process.
pub fn signal_process(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _gone = rustix::process::kill_process(pid, signal);
    }
}

/// Takes the exit code of a child that has ended, so that the system forgets it.
pub fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _gone = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Returns the process group of a process; `None` if it is gone.
pub fn group_of(pid: i32) -> Option<i32> {
    Some(rustix::process::getpgid(Pid::from_raw(pid)).ok()?.as_raw_nonzero().get())
}

/// Returns true if this user may make files in a folder.
pub fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Returns our own process id.
pub fn own_pid() -> i32 {
    Pid::as_raw(Some(rustix::process::getpid()))
}

/// Returns true if the terminal stopped it because it read from it or wrote to it: its whole group stands still then.
pub fn is_stopped_by_terminal(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = rustix::process::waitid(WaitId::Pid(pid), options).ok().flatten();
    let signal = status.and_then(|status| status.stopping_signal());
    signal.is_some_and(|signal| [Signal::TTIN, Signal::TTOU].map(Signal::as_raw).contains(&signal))
}

/// Gives a child a process group of its own, so that no Ctrl-C of ours reaches it.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Begins a session without a terminal. What is started in it is found by it.
pub fn start_session() {
    // It fails only for the leader of a process group, which our child is not yet.
    let _is_new = rustix::process::setsid().is_ok();
}

/// Has what we start end with us, where the system can do that.
pub fn end_children_with_us() {}

/// Becomes the program. Comes back only with the error that prevented it.
pub fn become_program(command: &mut Command) -> io::Error {
    let error = command.exec();
    // The standard library gave SIGPIPE its default action for the program. It would end us at a write to who is gone.
    let _handled = signal_hook::flag::register(consts::SIGPIPE, Arc::default()).is_ok();
    error
}

/// Runs `exec` so that the program begins with the default action for each of these signals: those that we inherited as
/// ignored get a handler, and exec resets handlers. Returns a signal that came before that.
pub fn with_default_signals(signals: Vec<i32>, exec: impl FnOnce() -> io::Error) -> io::Result<i32> {
    let came = Arc::new(AtomicUsize::new(0));
    note_signals(signals, &came)?;
    match i32::try_from(came.load(Ordering::SeqCst)) {
        Ok(0) | Err(_) => Err(exec()),
        Ok(signal) => Ok(signal),
    }
}

/// Returns the number by which records name the end of a child: its exit code, or 128+n for signal n.
pub fn code_of(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// Returns true if we run as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns what names this start of the machine, whatever its name is in a container; `None` where the system has nothing like that.
pub fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Returns the names of the files by which a program may be called that is asked for as `name`.
pub fn program_names(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

/// Returns the name by which a program is called.
pub fn program_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Returns what the system starts for a program that was asked for by this name or path.
pub fn program(name: &OsStr) -> OsString {
    name.to_owned()
}

/// Returns what starts a tool that is asked for by this name or path. A path is given to `posix_spawn`; for a name, the standard
/// library forks, which copies our page tables and takes as long as a short git command.
pub fn tool(name: &OsStr) -> OsString {
    #[expect(clippy::disallowed_methods, reason = "the tool is found as the system would find it for us")]
    let folders = std::env::var_os("PATH").unwrap_or_default();
    on_path(name, &folders).map_or_else(|| name.to_owned(), PathBuf::into_os_string)
}

/// Returns the program that `execvp` would start, if that does not depend on the folder in which it is started.
fn on_path(name: &OsStr, folders: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return None;
    }
    let mut programs = std::env::split_paths(folders).map(|folder| folder.join(name));
    let found = programs.find(|program| program.is_relative() || may_run(program))?;
    found.is_absolute().then_some(found)
}

/// Returns true for a path, and false for a name that is looked for on the PATH.
pub fn is_path(program: &str) -> bool {
    program.contains('/')
}

/// Returns true if only a command line without line breaks reaches this program.
pub fn takes_single_lines_only(_program: &str) -> bool {
    false
}

/// Returns true for a file that some user may run.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

/// Returns true for a file that we may run.
pub fn may_run(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// Returns whether the owner of a file may run it, or `None` where files do not say so.
pub fn is_executable(found: &Metadata) -> Option<bool> {
    Some(found.mode() & 0o100 != 0)
}

pub fn mode(found: &Metadata) -> u32 {
    found.mode()
}

pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The same for what was opened.
pub fn set_mode_of(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

pub fn identity(_path: &Path, found: &Metadata) -> Option<Identity> {
    Some((found.dev(), found.ino()))
}

pub fn identity_of(file: &File) -> io::Result<Identity> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

/// Returns what the standard streams of this process are written to, as far as these are files.
pub fn own_outputs() -> Vec<Identity> {
    let streams = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
    streams.into_iter().filter_map(|stream| identity_of(&File::from(stream.ok()?)).ok()).collect()
}

/// Returns when content or attributes of a file changed, in seconds and nanoseconds.
pub fn changed_at(found: &Metadata) -> (i64, i64) {
    (found.ctime(), found.ctime_nsec())
}

/// Makes folders for the user alone.
pub fn private_dirs() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Opens files with this mode, where they are made.
pub fn with_mode(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(mode);
    options
}

/// The same, and does not follow a link in the last place.
pub fn without_links(mode: u32) -> OpenOptions {
    let mut options = with_mode(mode);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// The same for whatever may have the place of a file: to open a pipe can take for ever.
pub fn without_wait(mode: u32) -> OpenOptions {
    let mut options = with_mode(mode);
    options.custom_flags(OFlags::NONBLOCK.union(OFlags::NOCTTY).bits().cast_signed());
    options
}

/// Opens what is below `top`. `None` if it is not there, or behind a link.
pub fn open_below(top: &Utf8Path, path: &Utf8Path) -> io::Result<Option<File>> {
    let mut at = File::open(top)?;
    for component in path.components() {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&at, component.as_str(), flags, rustix::fs::Mode::empty()) {
            Ok(opened) => at = File::from(opened),
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(at))
}

/// Forces the content of a file, or the names in a folder, to the disk. `path` is where it was opened.
pub fn sync(file: &File, _path: &Path) -> io::Result<()> {
    file.sync_all()
}

pub fn remove_dir_all(dir: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(dir)
}

/// Returns the bytes that are free for the user on the file system of `dir`.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(dir)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

pub fn canonicalize(path: &Utf8Path) -> io::Result<Utf8PathBuf> {
    path.canonicalize_utf8()
}

/// Returns a name as git has it.
pub fn bytes_of(name: &OsStr) -> Cow<'_, [u8]> {
    Cow::Borrowed(name.as_bytes())
}

/// Returns a path of git's as the system has it.
pub fn os_str(bytes: &[u8]) -> Cow<'_, OsStr> {
    Cow::Borrowed(OsStr::from_bytes(bytes))
}

pub fn os_string(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// Returns how wide the window of a stream is, where it has one.
pub fn columns(of: impl AsFd) -> Option<u16> {
    rustix::termios::tcgetwinsize(of).ok().map(|size| size.ws_col).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_where_the_system_would_find_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        place("notes/git", 0o644);
        std::fs::create_dir_all(folder.path().join("folders/git")).unwrap();
        let (first, second) = (place("first/git", 0o755), place("second/git", 0o755));
        let cases = [
            ("git", &["first", "second"][..], Some(&first)),
            ("git", &["second", "first"], Some(&second)),
            ("git", &["gone", "notes", "folders", "second"], Some(&second)),
            ("git", &["notes"], None),
            ("git", &[], None),
            ("./git", &["first"], None),
            ("bin/git", &["first"], None),
        ];
        for (name, folders, expected) in cases {
            let folders = std::env::join_paths(folders.iter().map(|name| folder.path().join(name))).unwrap();
            assert_eq!(on_path(name.as_ref(), &folders).as_ref(), expected, "{name} on {folders:?}");
        }
        // An empty or relative folder is meant from where the tool is started.
        let relative = std::env::join_paths([Path::new("bin"), &folder.path().join("first")]).unwrap();
        assert_eq!(on_path("git".as_ref(), &relative), None);
        let empty = std::env::join_paths([Path::new(""), &folder.path().join("first")]).unwrap();
        assert_eq!(on_path("git".as_ref(), &empty), None);
    }
}
