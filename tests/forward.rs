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
fn a_shim_is_a_link_that_replaces_nothing_and_goes_without_a_trace() {
    let scene = Sandbox::without_repository("project");
    let outside = |path: &str| scene.outside(path).display().to_string();
    std::fs::create_dir(scene.outside("kit")).unwrap();
    scene.program("specify", "echo \"kit $@\"");
    std::fs::rename(scene.outside("bin/specify"), scene.outside("kit/specify")).unwrap();
    std::os::unix::fs::symlink(Program::Own.path(), scene.outside("bin/specify-ralph")).unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", outside("bin"), outside("kit"));
    let call = |words: &str| scene.call(words).program(Program::Own).env("PATH", path.clone()).run();
    let named = format!("{} leads to {}\n", outside("bin/specify"), outside("bin/specify-ralph"));
    let reached = format!("`specify ralph` is this program, all else goes to {}\n", outside("kit/specify"));
    call("shim install").code(0).stdout(format!("{named}{reached}"));
    call("shim install").code(0).stdout(format!("{} is there already\n{reached}", outside("bin/specify")));
    let shell = |line: &str| {
        let output = scene.hermetic("sh").env("PATH", &path).args(["-c", line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(shell("specify init x"), "kit init x\n");
    assert!(shell("specify ralph --version").starts_with("specify-ralph "));

    // Another program stays, and one that comes first on the PATH is named.
    call(&format!("shim install {}", outside("kit")))
        .code(3)
        .stderr_has("another program")
        .stderr_has("hint: ");
    call(&format!("shim remove {}", outside("kit"))).code(3).stderr_has("hint: ");
    std::fs::create_dir(scene.outside("off")).unwrap();
    let off = format!("shim install {}", outside("off"));
    let behind = format!("{}:{}", outside("kit"), outside("off"));
    let late = scene.call(&off).program(Program::Own).env("PATH", behind).run();
    late.code(0).stdout_has("comes first on the PATH");
    scene
        .call(&off)
        .program(Program::Own)
        .env("PATH", "/usr/bin")
        .run()
        .code(0)
        .stdout_has("not on the PATH");
    call("shim install nowhere").code(1).stderr_has("nowhere/specify");

    call("shim remove").code(0).stdout(format!("removed {}\n", outside("bin/specify")));
    assert_eq!(shell("specify init x"), "kit init x\n");
    call("shim remove").code(3).stderr_has("no link `specify`");
    // A link whose program is gone is replaced, and removed.
    let gone = scene.outside("off/specify");
    let lead_nowhere = || {
        std::fs::remove_file(&gone).unwrap();
        std::os::unix::fs::symlink(scene.outside("gone/specify-ralph"), &gone).unwrap();
    };
    lead_nowhere();
    let renewed = format!("{} leads to {}\n", outside("off/specify"), outside("bin/specify-ralph"));
    call(&off).code(0).stdout_has(&renewed);
    lead_nowhere();
    call(&format!("shim remove {}", outside("off"))).code(0);
    assert_eq!(std::fs::read_dir(scene.outside("off")).unwrap().count(), 0);
}

#[test]
fn a_launcher_that_stands_alone_says_what_is_missing() {
    let scene = Sandbox::without_repository("project");
    // Not by this process: a child of another test could have the copy open for writing, and it would be busy.
    let copied =
        scene.hermetic("cp").arg(Program::GitRalph.path()).arg(scene.outside("bin/git-ralph")).status();
    assert!(copied.unwrap().success());
    let output = scene.hermetic(scene.outside("bin/git-ralph")).arg("log").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("specify-ralph: ") && said.contains("\nhint: "), "{said}");
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
