//! `specify` with other words than `ralph`: spec-kit's own program gets them untouched.

use crate::sandbox::{Program, Sandbox};

#[test]
fn other_words_reach_the_next_specify_untouched() {
    let scene = Sandbox::without_repository("project");
    scene.program(
        "specify",
        "for word in \"$@\"; do printf '<%s>' \"$word\"; done; cat; echo oops >&2; exit 42",
    );
    let words = ["init", "--here", "a b", "", "--ralph", "-x=ü\n"];
    let run = scene.call(words).program(Program::Specify).stdin("from stdin").run();
    run.code(42).stdout("<init><--here><a b><><--ralph><-x=ü\n>from stdin").stderr("oops\n");
    scene.call("").program(Program::Specify).stdin("").run().code(42).stdout("");
}

#[test]
fn ourselves_on_the_path_are_passed_over() {
    let scene = Sandbox::without_repository("project");
    std::os::unix::fs::symlink(Program::Specify.path(), scene.outside("bin/specify")).unwrap();
    std::fs::create_dir(scene.outside("later")).unwrap();
    scene.program("real", "echo \"$@\"");
    std::fs::rename(scene.outside("bin/real"), scene.outside("later/specify")).unwrap();
    let path =
        format!("{}:{}:/usr/bin:/bin", scene.outside("bin").display(), scene.outside("later").display());
    scene.call("check now").program(Program::Specify).env("PATH", path).run().code(0).stdout("check now\n");
}

#[test]
fn a_signal_that_ends_spec_kit_is_ours_too() {
    let scene = Sandbox::without_repository("project");
    scene.program("specify", "kill -TERM $$");
    scene.call("init").program(Program::Specify).run().code(143);
}

#[test]
fn without_spec_kit_it_says_how_to_get_it() {
    let scene = Sandbox::without_repository("project");
    let call = |words: &str| scene.call(words).program(Program::Specify).env("PATH", scene.outside("bin"));
    call("init x").run().code(3).stderr_has("`specify init` belongs to spec-kit").stderr_has("hint: ");
    call("").run().code(0).stdout_has("specify ralph");
    call("--version").run().code(0).stdout_has(env!("CARGO_PKG_VERSION"));
    call("ralph --version").run().code(0).stdout_has(env!("CARGO_PKG_VERSION"));
}

#[test]
fn help_names_the_commands() {
    let scene = Sandbox::without_repository("project");
    let help = scene.ralph("--help").code(0);
    for command in ["run", "resume", "status", "log", "show", "memory", "fsck", "config", "demo"] {
        assert!(help.text().contains(&format!("\n  {command} ")), "{help}");
    }
    help.stdout_lacks("play-script");
    std::os::unix::fs::symlink(Program::GitRalph.path(), scene.outside("bin/git-ralph")).unwrap();
    scene.call("--help").program(Program::GitRalph).run().code(0).stdout_has("Usage: git ralph ");
}
