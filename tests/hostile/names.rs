//! The name by which the program was called, and can be called again.

#![expect(clippy::unwrap_used, reason = "a scene that cannot go on has failed")]

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::process::Output;

use crate::sandbox::{Program, Sandbox, WILLING_AGENT};

/// The folders of the machine's PATH that have none of the programs that are called `specify` or `git-ralph`.
fn plain_path(scene: &Sandbox) -> OsString {
    let (_, path) = std::env::vars_os().find(|(name, _)| name == "PATH").unwrap();
    let is_plain = |folder: &std::path::PathBuf| {
        ["specify", "specify-ralph", "git-ralph"].iter().all(|program| !folder.join(program).exists())
    };
    let plain = std::env::split_paths(&path).filter(is_plain);
    std::env::join_paths(std::iter::once(scene.outside("bin")).chain(plain)).unwrap()
}

/// A project where only the programs of the scene's own folder are called as ours are.
struct Names {
    scene: Sandbox,
    path: OsString,
}

impl Names {
    fn new() -> Self {
        let scene = Sandbox::new();
        let path = plain_path(&scene);
        Self { scene, path }
    }

    fn has(self, program: Program) -> Self {
        let name = program.path().rsplit('/').next().unwrap().to_owned();
        symlink(program.path(), self.scene.outside("bin").join(name)).unwrap();
        self
    }

    fn has_spec_kit(self) -> Self {
        self.scene.program("specify", "echo \"No such command '$1'.\" >&2; exit 2");
        self
    }

    /// What the shell makes of a line.
    fn shell(&self, line: &str) -> Output {
        self.scene.hermetic("sh").env("PATH", &self.path).args(["-c", line]).output().unwrap()
    }

    /// All that it prints.
    fn text(&self, line: &str) -> String {
        let output = self.shell(line);
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    /// The hint of an empty history names `expected`, and what it names starts.
    #[track_caller]
    fn case(&self, called: &str, expected: &str) {
        let said = self.text(&format!("{called} log"));
        assert!(said.contains(&format!("start one with `{expected}`")), "{called}: {said}");
        let version = self.text(&format!("{expected} --version"));
        assert!(version.starts_with("specify-ralph "), "{expected}: {version}");
        let help = self.text(&format!("{called} restore --help"));
        assert!(help.contains(&format!("\nUsage: {expected} restore ")), "{called}: {help}");
        assert!(help.contains(&format!("\n  {expected} restore --undo ")), "{called}: {help}");
    }
}

#[test]
fn hints_and_help_name_a_command_that_starts_this_program() {
    let by_path = format!("{} ralph", Program::Specify.path());
    let git_by_path = Program::GitRalph.path();
    let names = Names::new().has(Program::Specify);
    names.case("specify ralph", "specify ralph");
    names.case(&by_path, "specify ralph");
    names.case(git_by_path, git_by_path);

    let names = Names::new().has(Program::GitRalph);
    names.case("git ralph", "git ralph");
    names.case("git-ralph", "git ralph");
    names.case(&by_path, "git ralph");

    let names = Names::new().has(Program::GitRalph).has_spec_kit();
    names.case("git ralph", "git ralph");
    names.case(&by_path, "git ralph");

    let names = Names::new().has_spec_kit();
    names.case(&by_path, &by_path);
    let link = names.scene.outside("it's here");
    symlink(Program::Specify.path(), &link).unwrap();
    let quoted = format!("'{}'", link.display().to_string().replace('\'', "'\\''"));
    names.case(&quoted, &quoted);
    names.case(&format!("{quoted} ralph"), &quoted);

    let names = Names::new().has(Program::Own).has_spec_kit();
    names.case("specify-ralph", "specify-ralph");
    names.case("specify-ralph ralph", "specify-ralph");
    names.scene.skip_final_fsck();
}

#[test]
fn with_git_ralph_alone_nothing_says_specify_ralph() {
    let names = Names::new().has(Program::GitRalph).has_spec_kit();
    let clean = |line: &str| {
        let said = names.text(line);
        let lines = said.lines().filter(|line| line.contains("specify ralph"));
        // The committer's name, and what marks our summaries.
        let stays = ["specify ralph <ralph@localhost>", "<!-- specify ralph report -->"];
        let wrong: Vec<_> = lines.filter(|line| !stays.iter().any(|name| line.contains(name))).collect();
        assert!(wrong.is_empty(), "{line}: {wrong:#?}");
        said
    };
    let help = clean("git ralph help");
    let commands = help.split("\nCommands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    for command in commands.lines().filter_map(|line| line.split_whitespace().next()) {
        clean(&format!("git ralph {command} -h; git ralph help {command}"));
    }
    for topic in ["configuration", "format", "names", "stopping"] {
        clean(&format!("git ralph help {topic}"));
    }
    for line in ["status", "log", "resume", "stop", "show 4", "restore 1", "sync", "hint ''"] {
        clean(&format!("git ralph {line} </dev/null | cat"));
    }
    for (line, expected) in [
        ("config --set no=where", "git ralph"),
        ("purge 20200101-000000-00000000 --local --yes", "`git ralph sync`"),
        ("tui", "`git ralph log`"),
        ("run --task T009", "`git ralph tasks`"),
    ] {
        let said = clean(&format!("git ralph {line} </dev/null"));
        assert!(said.contains(expected), "{line}: {said}");
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = clean(&format!("git ralph completions {shell}"));
        assert!(script.contains("git-ralph") && !script.contains("_specify"), "{shell}: {script}");
    }
    let demo = clean("git ralph demo --dir ../demo");
    assert!(demo.contains("\n  git ralph log  ") && demo.contains("git ralph fsck"), "{demo}");
    for line in ["report --markdown", "status", "clean --keep-last 0", "rebuild --check"] {
        clean(&format!("cd ../demo && git ralph {line}"));
    }
    let page = names.text("cd ../demo && git ralph report -o -");
    assert!(page.contains("<code>git ralph show ") && page.contains("<code>git ralph log --session"));
    assert!(!page.contains("<code>specify ralph"), "{page}");
    names.scene.skip_final_fsck();
}

#[test]
fn a_page_to_send_has_no_path_of_this_machine() {
    let names = Names::new().has_spec_kit();
    let program = Program::Specify.path();
    names.text(&format!("{program} ralph demo --dir ../demo"));
    let page = names.shell(&format!("cd ../demo && {program} ralph report -o -")).stdout;
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("<code>specify ralph show ") && !page.contains(program), "{page}");
    names.scene.skip_final_fsck();
}

#[test]
fn hooks_call_the_program_that_put_them_in_where_git_ralph_is_not_on_the_path() {
    let names = Names::new().has_spec_kit();
    let scene = &names.scene;
    scene.agent_script(WILLING_AGENT).commit("An agent");
    let bare = scene.with_remote();
    let link = scene.outside("it's ours");
    symlink(Program::Specify.path(), &link).unwrap();
    let ours = format!("'{}'", link.display().to_string().replace('\'', "'\\''"));
    names.text(&format!("{ours} hooks install --pre-push && {ours}"));
    scene.commit("Work");
    // Spec-kit's `specify` is in front, and nobody else knows `ralph`.
    let said = names.text("git push --quiet origin main");
    assert!(!said.contains("No such command"), "{said}");
    let pushed = scene.git_in(&bare, "for-each-ref --format=%(refname) refs/ralph/");
    assert_eq!(pushed.lines().count(), 1, "{said}");

    // Once it is installed for git, that is what the next block calls.
    let status = |command: &str| names.text(&format!("{command} hooks status"));
    assert!(status(&ours).contains("pre-push            installed\n"), "{}", status(&ours));
    symlink(Program::GitRalph.path(), scene.outside("bin/git-ralph")).unwrap();
    assert!(status("git ralph").contains("pre-push            installed by another version"));
    names.text("git ralph hooks install --pre-push");
    assert!(scene.read(".git/hooks/pre-push").contains("; then\n  git-ralph sync "));
    // Gone again: a hook is silent where nothing of ours is there.
    std::fs::remove_file(scene.outside("bin/git-ralph")).unwrap();
    scene.commit("More");
    assert_eq!(names.text("git push --quiet origin main"), "");
    scene.skip_final_fsck();
}
