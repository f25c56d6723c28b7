use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A work tree `work` that commands can write, and what lies beside it.
fn machine() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(folder.path()).unwrap();
    for program in ["work/bin/git", "work/git", "host/bin/git", "host/store/git-1/bin/git", "work/ssh.sh"] {
        let path = top.join(program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for folder in ["links", "nix/bin", "mixed"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    symlink("../work/bin", top.join("links/to-work")).unwrap();
    symlink("to-work", top.join("links/twice")).unwrap();
    // The folder of the program is a link that commands inside can change, though it leads out of their reach now.
    symlink("../host/bin", top.join("work/out")).unwrap();
    symlink("../work/out", top.join("links/through-work")).unwrap();
    symlink("../store/git-1/bin/git", top.join("host/profile")).unwrap();
    symlink("../../host/store/git-1/bin/git", top.join("nix/bin/git")).unwrap();
    symlink("../work/bin/git", top.join("mixed/git")).unwrap();
    (folder, top)
}

fn outside(top: &Path) -> Outside {
    Outside { open: vec![top.join("work")], ..Outside::default() }
}

#[test]
fn a_path_is_closed_only_if_nothing_on_the_way_can_be_written_inside() {
    let (_folder, top) = machine();
    let outside = outside(&top);
    for (path, leads_in) in [
        ("work", true),
        ("work/bin", true),
        ("work/not-there", true),
        ("links/to-work", true),
        ("links/twice/git", true),
        ("links/through-work", true),
        ("work/../host/bin", true),
        ("host/../work/bin", true),
        // As package managers link, and what only begins alike.
        ("host/bin", false),
        ("nix/bin/git", false),
        ("host/profile", false),
        ("workshop/bin", false),
        ("not-there", false),
    ] {
        assert_eq!(outside.leads_into(&top.join(path)), leads_in, "{path}");
    }
}

#[test]
fn a_list_keeps_the_folders_in_which_commands_inside_can_put_nothing() {
    let (_folder, top) = machine();
    let outside = outside(&top);
    let at = |name: &str| top.join(name).to_str().unwrap().to_owned();
    let (host, nix) = (at("host/bin"), at("nix/bin"));
    for (list, expected) in [
        (format!(":{host}"), vec![host.as_str()]),
        (format!("{host}:"), vec![&host]),
        (format!("{host}::{nix}"), vec![&host, &nix]),
        (format!(".:{host}:./bin:bin:.."), vec![&host]),
        (format!("{}:{host}", at("work/bin")), vec![&host]),
        (format!("{}:{}:{host}", at("links/twice"), at("links/through-work")), vec![&host]),
        // A folder of links, one of which leads into the work tree and has the name of a program that others start.
        (format!("{}:{nix}", at("mixed")), vec![&nix]),
        (at("work"), vec![]),
        (format!("{nix}:{host}"), vec![&nix, &host]),
    ] {
        let left = outside.closed_folders(list.as_ref());
        assert_eq!(left, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{list}");
    }
}

#[test]
fn a_command_is_open_where_any_of_its_words_leads_into_the_work_tree() {
    let (_folder, top) = machine();
    let outside = outside(&top);
    let at = |name: &str| top.join(name).to_str().unwrap().to_owned();
    for (command, is_open) in [
        ("./ssh.sh", true),
        ("sh ssh.sh", true),
        ("bin/git", true),
        ("../work/ssh.sh -4", true),
        (at("work/ssh.sh").as_str(), true),
        (&format!("ssh -F {}", at("links/twice/git")), true),
        (&format!("!f() {{ {}; }}; f", at("work/ssh.sh")), true),
        ("ssh -o ProxyCommand=./ssh.sh", true),
        ("$PWD/ssh.sh", true),
        ("${PWD}/ssh.sh", true),
        ("`git rev-parse --show-toplevel`/ssh.sh", true),
        ("sh $(pwd)/ssh.sh", true),
        ("npx pager", true),
        ("less -FRX", false),
        ("delta --dark | less -R", false),
        ("code --wait", false),
        ("gpg2", false),
        ("git", false),
        ("/usr/bin/ssh -i ~/.ssh/id -o IdentitiesOnly=yes", false),
        ("!aws codecommit credential-helper $@", false),
        ("!f() { echo username=me; }; f", false),
        ("sed s/a/b/ | less", false),
        ("--max-old-space-size=4096", false),
        (&at("host/bin/git"), false),
        ("", false),
    ] {
        assert_eq!(outside.runs_open(command), is_open, "{command}");
    }
}

#[test]
fn what_leads_programs_outside_is_replaced_and_said_and_the_rest_stays() {
    let (_folder, top) = machine();
    let host = top.join("host/bin");
    let path = format!(":{}:{}", top.join("work/bin").display(), host.display());
    let environment = [
        ("PATH", path.as_str()),
        ("GIT_SSH_COMMAND", "./ssh.sh"),
        ("LD_LIBRARY_PATH", "./lib"),
        ("GIT_CONFIG_GLOBAL", "gitconfig"),
        ("EDITOR", "vim"),
        ("PAGER", "less"),
        ("HOME", "work"),
    ];
    let environment = environment.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let settings = [
        ("gpg.program", "./ssh.sh"),
        ("gpg.ssh.program", "ssh-keygen"),
        ("credential.https://a.example.helper", "!sh ssh.sh"),
        ("core.pager", "less -R"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let outside = Outside::new(vec![top.join("work")], environment, settings);
    let variables: Vec<_> = outside.variables().collect();
    let expected = [
        ("GIT_CONFIG_GLOBAL", None),
        ("GIT_SSH_COMMAND", None),
        ("LD_LIBRARY_PATH", None),
        ("PATH", Some(host.as_os_str())),
    ];
    assert_eq!(variables, expected);
    let arguments: Vec<_> = outside.settings().collect();
    assert_eq!(arguments, ["-c", "gpg.program=gpg", "-c", "credential.https://a.example.helper="]);
    assert_eq!(
        outside.lines(),
        [
            format!(
                "outside of the sandbox the PATH is used without its empty entry, `{}`: the agent could put programs there",
                top.join("work/bin").display()
            ),
            "not used as set outside of the sandbox: `GIT_CONFIG_GLOBAL`, `GIT_SSH_COMMAND`, `LD_LIBRARY_PATH`, git's \
             `gpg.program`, git's `credential.https://a.example.helper`: the agent could change what runs then"
                .to_owned()
        ]
    );
    assert!(Outside::new(vec![top.join("work")], [], Vec::new()).lines().is_empty());
}
