use super::places::{Access, Places};
use super::*;

fn path(text: &str) -> Utf8PathBuf {
    text.into()
}

fn places() -> Places {
    [
        ("/project/.git", Access::ReadOnly),
        ("/project", Access::Write),
        ("/home/me/.ssh", Access::HiddenDir),
        ("/home/me/.ssh/known_hosts", Access::Shown),
        ("/home/me/.netrc", Access::HiddenFile),
        ("/tmp", Access::Instead(path("/private/tmp"))),
        ("/private/home", Access::Write),
    ]
    .map(|(place, access)| (path(place), access))
    .into()
}

#[test]
fn bubblewrap_gets_each_place_after_the_folders_that_it_is_in() {
    let line = |network| bwrap::arguments(&places(), network, Utf8Path::new("/project/sub")).join(" ");
    let open = line(&Network::All);
    assert_eq!(
        open,
        "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL \
         --ro-bind / / --dev /dev --proc /proc \
         --ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger \
         --ro-bind-try /proc/irq /proc/irq --ro-bind-try /proc/bus /proc/bus \
         --ro-bind /dev/null /home/me/.netrc --tmpfs /home/me/.ssh \
         --ro-bind /home/me/.ssh/known_hosts /home/me/.ssh/known_hosts \
         --bind /private/home /private/home \
         --bind /project /project --ro-bind /project/.git /project/.git --bind /private/tmp /tmp \
         --remount-ro /home/me/.ssh --chdir /project/sub --"
    );
    assert_eq!(line(&Network::None), open.replace("ALL --ro-bind", "ALL --unshare-net --ro-bind"));
}

#[test]
fn srt_gets_the_same_places_as_settings() {
    let hosts = Network::Hosts(vec!["api.example.com".to_owned()]);
    let read = |network: &Network| -> serde_json::Value {
        serde_json::from_str(&srt::settings(&places(), network)).unwrap()
    };
    assert_eq!(
        read(&hosts),
        serde_json::json!({
            "network": {"allowedDomains": ["api.example.com"], "deniedDomains": [], "strictAllowlist": true},
            "filesystem": {
                "denyRead": ["/home/me/.netrc", "/home/me/.ssh"],
                "allowRead": ["/home/me/.ssh/known_hosts"],
                "allowWrite": ["/private/home", "/project"],
                "denyWrite": ["/project/.git"],
            },
        })
    );
    assert_eq!(read(&Network::None)["network"]["allowedDomains"], serde_json::json!([]));
}

#[test]
fn srt_lets_commands_reach_this_machine_through_its_proxy_if_it_is_listed() {
    for (hosts, is_listed) in [
        (&["api.example.com", "localhost"][..], true),
        (&["127.0.0.1:8080"], true),
        (&["localhost.example.com"], false),
        (&[], false),
    ] {
        let network = Network::Hosts(hosts.iter().map(|host| (*host).to_owned()).collect());
        assert_eq!(srt::script(&network).starts_with("unset NO_PROXY"), is_listed, "{hosts:?}");
    }
}

#[test]
fn a_network_that_a_mechanism_cannot_give_is_refused() {
    let own = Mechanism::Command(vec!["podman".to_owned(), COMMAND.to_owned()]);
    let hosts = || Network::Hosts(vec!["example.com".to_owned()]);
    for (mechanism, network, is_possible) in [
        (&Mechanism::Bwrap, Network::All, true),
        (&Mechanism::Bwrap, Network::None, true),
        (&Mechanism::Bwrap, hosts(), false),
        (&Mechanism::Srt, Network::All, false),
        (&Mechanism::Srt, Network::None, true),
        (&Mechanism::Srt, hosts(), true),
        (&own, Network::All, true),
        (&own, Network::None, false),
        (&own, hosts(), false),
    ] {
        let checked = mechanism.check_network(&network);
        assert_eq!(checked.is_ok(), is_possible, "{mechanism:?} {network:?}");
        assert!(checked.is_ok() || checked.is_err_and(|refusal| refusal.hint.is_some()));
    }
}

#[test]
fn variables_with_names_of_credentials_or_that_lead_out_are_dropped() {
    for (name, value, is_dropped) in [
        ("GITHUB_TOKEN", "x", true),
        ("AWS_SECRET_ACCESS_KEY", "x", true),
        ("ANTHROPIC_API_KEY", "x", true),
        ("MY_db_password", "x", true),
        ("SSH_AUTH_SOCK", "/tmp/x", true),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:", true),
        ("DOCKER_HOST", "unix:", true),
        ("DISPLAY", ":0", true),
        ("PATH", "/bin", false),
        ("RALPH_TASKS", "x", false),
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "32000", false),
        ("MY_TOKENS", "abc,def", true),
        ("STRIPE_KEY", "x", true),
        ("GITHUB_PAT", "x", true),
        ("NODE_PATH", "/x", false),
        ("PYTHONPATH", "/x", false),
        ("LD_LIBRARY_PATH", "/x", false),
        ("KEYBOARD", "x", false),
        ("LANG", "C", false),
    ] {
        assert_eq!(variables::is_dropped(name, value), is_dropped, "{name}={value}");
    }
}

#[test]
fn what_is_hidden_of_a_home_moves_with_the_variables_that_name_other_folders() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
    let values = [
        ("GNUPGHOME", folder.to_string()),
        ("XDG_CONFIG_HOME", "/else/config".to_owned()),
        ("KUBECONFIG", "/a/one.yaml:/b/two.yaml:rel.yaml".to_owned()),
        ("NETRC", folder.to_string()),
        ("CARGO_HOME", "relative".to_owned()),
    ];
    let variable =
        |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let found = hidden(Utf8Path::new("/home/me"), &variable);
    for (place, is_hidden) in [
        ("/home/me/.ssh", true),
        ("/home/me/.local/share/fish/fish_history", true),
        ("/home/me/.config/gh", true),
        ("/else/config/gh", true),
        ("/a/one.yaml", true),
        ("/b/two.yaml", true),
        (&format!("{folder}/private-keys-v1.d"), true),
        // It may be any folder.
        (folder.as_str(), false),
        ("/else/config", false),
        ("/home/me", false),
        ("/home/me/.config", false),
        ("/home/me/.config/git", false),
        ("/home/me/.cargo", false),
        ("/home/me/.cargo/config.toml", false),
        ("relative/credentials.toml", false),
        ("rel.yaml", false),
    ] {
        assert_eq!(found.contains(&path(place)), is_hidden, "{place}");
    }
    let table = include_str!("places.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut seen = Vec::new();
    for line in table {
        let (place, source) = line.split_once('\t').unwrap_or_else(|| panic!("{line}: no source"));
        let is_whole = source.trim() == source && !source.is_empty() && !place.starts_with('/');
        assert!(is_whole && place.matches('*').count() <= 1 && !seen.contains(&place), "{line}");
        seen.push(place);
    }
}

#[test]
fn places_with_a_star_are_those_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    for name in ["vm/a/docker.sock", "vm/b/other", "vm/c/docker.sock", "plain", "x.sock", "x.txt"] {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(folder.join(name), "").unwrap();
    }
    let wanted = ["vm/*/docker.sock", "*.sock", "plain", "none", "none/*"].map(|name| folder.join(name));
    let mut found = places::present(&wanted);
    found.sort();
    assert_eq!(
        found,
        ["plain", "vm/a/docker.sock", "vm/c/docker.sock", "x.sock"].map(|name| folder.join(name))
    );
}

#[test]
fn sockets_are_found_by_path_through_links_and_by_their_name_alone() {
    // A path of a socket is short.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
    let (home, other) = (folder.join("h"), folder.join("o"));
    for dir in ["h/a/b", "h/.git", "o"] {
        fs::create_dir_all(folder.join(dir)).unwrap();
    }
    std::os::unix::fs::symlink(&home, folder.join("l")).unwrap();
    let names = ["h/one", "h/a/b/two", "h/with space", "h/.git/fsmonitor--daemon.ipc", "o/four", "h/three"];
    let _open = names.map(|name| std::os::unix::net::UnixListener::bind(folder.join(name)).unwrap());
    // A file of that name is no socket.
    fs::write(home.join("a/three"), "").unwrap();
    let row = |name: &str| format!("ffff: 00000002 00000000 00010000 0001 01 1234 {name}\n");
    let listed = [
        format!("{folder}/l/one"),
        "two".to_owned(),
        "sub/three".to_owned(),
        format!("{home}/with space"),
        format!("{home}/.git/fsmonitor--daemon.ipc"),
        format!("{home}/gone"),
        format!("{other}/four"),
        "@abstract".to_owned(),
    ];
    let table = listed.iter().fold("Num RefCount Protocol\n".to_owned(), |table, name| table + &row(name));
    let table = table + "ffff: 00000002 00000000 00010000 0001 01 1234\n";
    let mut found = places::sockets(table.as_bytes(), std::slice::from_ref(&home));
    found.sort();
    assert_eq!(found, ["a/b/two", "one", "three", "with space"].map(|name| home.join(name)));
}

/// A user's home, and the sandbox of a session over it. `None` where bubblewrap cannot run.
fn set_up(folder: &Utf8Path, state: &AgentState) -> Option<Arc<Sandbox>> {
    let work = folder.join("work");
    fs::create_dir_all(work.join(".git")).unwrap();
    let rules = Rules {
        write: vec![work.clone()],
        read_only: vec![work.join(".git")],
        filters_write: Vec::new(),
        hide: vec![folder.join("home/.ssh")],
        show: Vec::new(),
        variables: Vec::new(),
        secrets: Vec::new(),
        network: Network::All,
        check_network: Network::None,
    };
    let (home, private_dir) = (folder.join("home"), folder.join("private"));
    let states = std::slice::from_ref(state);
    match Sandbox::set_up(
        Mechanism::Bwrap,
        rules,
        states,
        "/usr/bin:/bin",
        home,
        &private_dir,
        folder.join("logins"),
    ) {
        Ok(sandbox) => Some(sandbox),
        Err(error) => {
            eprintln!("skipped: {error:#}");
            None
        }
    }
}

#[test]
fn an_agent_works_with_copies_and_its_credentials_alone_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
    let home = folder.join("home");
    fs::create_dir_all(home.join(".agent/skills")).unwrap();
    fs::create_dir_all(home.join(".ssh")).unwrap();
    let write = |name: &str, text: &str| fs::write(home.join(name), text).unwrap();
    for name in [".agent/login", ".agent/other", ".agent/settings", ".agent/skills/a", ".ssh/key", ".profile"]
    {
        write(name, "user's");
    }
    write(".agent/wrong", "{\"token\":\"user's\"}");
    let state = AgentState {
        copies: vec![path(".agent/settings"), path(".agent/skills")],
        credentials: [".agent/login", ".agent/other", ".agent/link", ".agent/wrong"].map(path).to_vec(),
        ..AgentState::default()
    };
    let Some(sandbox) = set_up(&folder, &state) else { return };
    let is_own = |name| sandbox.for_checks().is_own_process(name);
    assert!(is_own("bwrap") && !is_own("sleep"), "what is named as left running");
    let private = sandbox.home().to_owned();
    let seeded = sandbox.seed(&state).unwrap();
    assert!(private.join(".profile").is_symlink() && !private.join(".ssh").exists());
    for name in [".agent/login", ".agent/other", ".agent/settings", ".agent/skills/a"] {
        let copy = private.join(name);
        assert!(!copy.is_symlink() && fs::read_to_string(&copy).unwrap() == "user's", "{copy}");
        fs::write(&copy, "agent's").unwrap();
    }
    fs::write(private.join(".agent/wrong"), "{}").unwrap();
    // A link would have us write what it leads to.
    write(".agent/link", "user's");
    std::os::unix::fs::symlink(home.join(".ssh/key"), private.join(".agent/link")).unwrap();
    write(".agent/other", "renewed by the user");
    let said = seeded.give_back().unwrap();
    let logins = folder.join("logins");
    assert_eq!(
        said,
        [
            format!(
                "login was changed meanwhile: {home}/.agent/other stays, and what the agent renewed is lost"
            ),
            format!("login looks wrong: kept at {logins}/agent-wrong.wrong; yours may be used up"),
        ]
    );
    for (name, expected) in [("agent-login.former", "user's"), ("agent-wrong.wrong", "{}")] {
        let file = logins.join(name);
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        assert_eq!(crate::platform::mode(&fs::metadata(&file).unwrap()) & 0o777, 0o600);
    }
    for (name, expected) in [
        (".agent/login", "agent's"),
        (".agent/other", "renewed by the user"),
        (".agent/settings", "user's"),
        (".agent/skills/a", "user's"),
        (".agent/link", "user's"),
        (".agent/wrong", "{\"token\":\"user's\"}"),
    ] {
        assert_eq!(fs::read_to_string(home.join(name)).unwrap(), expected, "{name}");
    }
    assert!(!private.join(".agent").exists(), "copies are thrown away");
    let dir = private.parent().unwrap().to_owned();
    drop(sandbox);
    assert!(!dir.exists());
}

#[test]
fn a_renewed_login_goes_back_while_the_agent_runs_and_the_next_one_starts_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
    let home = folder.join("home");
    fs::create_dir_all(home.join(".agent")).unwrap();
    let login = home.join(".agent/login");
    fs::write(&login, "{\"token\":\"1\"}").unwrap();
    let state = AgentState { credentials: vec![path(".agent/login")], ..AgentState::default() };
    let Some(sandbox) = set_up(&folder, &state) else { return };
    let copy = sandbox.home().join(".agent/login");
    let mut first = sandbox.seed_in_turn(&state, &mut || false).unwrap();
    let mut waits = 0;
    let mut pause = || {
        waits += 1;
        waits < 3
    };
    // Its agent has no other home here; what counts is that it waits, and gets a login all the same.
    drop(sandbox.seed_in_turn(&state, &mut pause).unwrap());
    assert_eq!(waits, 3, "another one starts");
    fs::write(&copy, "{\"token\":").unwrap();
    first.look(false).unwrap();
    assert_eq!(fs::read_to_string(&login).unwrap(), "{\"token\":\"1\"}", "half of one");
    fs::write(&copy, "{\"token\":\"2\"}").unwrap();
    first.look(true).unwrap();
    assert_eq!(fs::read_to_string(&login).unwrap(), "{\"token\":\"2\"}");
    assert!(!first.was_renewed_elsewhere().unwrap());
    fs::write(&login, "{\"token\":\"3\"}").unwrap();
    assert!(first.was_renewed_elsewhere().unwrap());
    // An older one never replaces a newer.
    assert_eq!(first.give_back().unwrap(), Vec::<String>::new());
    let second = sandbox.seed_in_turn(&state, &mut || panic!("it answered")).unwrap();
    assert_eq!(fs::read_to_string(&copy).unwrap(), "{\"token\":\"3\"}");
    drop(second);
}

#[test]
fn links_that_a_command_puts_into_its_home_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
    fs::create_dir_all(folder.join("home/.config")).unwrap();
    fs::write(folder.join("home/.config/precious"), "x").unwrap();
    let state = AgentState { copies: vec![path(".config/agent/settings")], ..AgentState::default() };
    let Some(sandbox) = set_up(&folder, &state) else { return };
    let config = sandbox.home().join(".config");
    fs::remove_dir_all(&config).unwrap();
    std::os::unix::fs::symlink(folder.join("home/.config"), &config).unwrap();
    fs::create_dir_all(folder.join("home/.config/agent")).unwrap();
    fs::write(folder.join("home/.config/agent/settings"), "user's").unwrap();
    sandbox.seed(&state).unwrap().give_back().unwrap();
    assert_eq!(fs::read_to_string(folder.join("home/.config/agent/settings")).unwrap(), "user's");
    assert!(folder.join("home/.config/precious").exists() && !config.is_symlink());
}

#[test]
fn a_fence_that_is_not_there_or_does_not_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
    let work = folder.join("work");
    fs::create_dir_all(&work).unwrap();
    let refused = |mechanism: Mechanism, path_variable: &str| {
        let rules = Rules {
            write: vec![work.clone()],
            read_only: Vec::new(),
            filters_write: Vec::new(),
            hide: Vec::new(),
            show: Vec::new(),
            variables: Vec::new(),
            secrets: Vec::new(),
            network: Network::All,
            check_network: Network::All,
        };
        let (home, private_dir) = (folder.join("home"), folder.join("private"));
        let error =
            Sandbox::set_up(mechanism, rules, &[], path_variable, home, &private_dir, folder.join("logins"));
        let error = error.unwrap_err();
        error.downcast_ref::<Refusal>().unwrap_or_else(|| panic!("{error:#}")).to_string()
    };
    let own = |words: &[&str]| Mechanism::Command(words.iter().map(|word| (*word).to_owned()).collect());
    for (mechanism, path_variable, expected) in [
        (
            Mechanism::Bwrap,
            "/nowhere",
            "sandbox `bwrap`: there is no program `bwrap` on the PATH\nhint: apt install bubblewrap",
        ),
        (
            Mechanism::Srt,
            "/nowhere",
            "sandbox `srt`: there is no program `srt` on the PATH\nhint: npm install -g ",
        ),
        (own(&["env"]), "/usr/bin", "`sandbox` has no `{command}`\nhint: "),
        (
            own(&["env", COMMAND]),
            "/usr/bin",
            "sandbox `env` does not hold: a test command wrote outside of its folder\nhint: ",
        ),
        (own(&["false", COMMAND]), "/usr/bin", "sandbox `false` cannot run a command: "),
    ] {
        let text = refused(mechanism, path_variable);
        assert!(text.starts_with(expected), "{text}");
    }
}
