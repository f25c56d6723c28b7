//! Attempts to get out of the sandbox, through real programs: each must fail, and is named in docs/sandbox.md.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up has failed")]
#![expect(clippy::disallowed_methods, reason = "asks bubblewrap itself")]
#![expect(clippy::print_stderr, reason = "says why scenes are skipped")]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::docs;
use crate::sandbox::sound::files;
use crate::sandbox::{Sandbox, wait_until};

/// What the agent tries, by what stops it: a name, and a script that ends well if it succeeds. `$H` is the user's home, `$OUT` a
/// folder outside, `$LOOP` the process of the loop, `$TMPSOCK` a socket in the machine's /tmp. docs/sandbox.md has the names.
const ATTEMPTS: &[(&str, &[(&str, &str)])] = &[
    (
        "read-only file system",
        &[
            ("write into the home folder", "echo x > $H/new"),
            ("append to .bashrc", "echo x >> $H/.bashrc"),
            ("append to .bashrc of the private home", "echo x >> ~/.bashrc"),
            ("write beside the work tree", "echo x > $OUT/new"),
            ("write through a link to a file", "ln -sf $OUT/file l && echo x > l"),
            ("write through a link to a folder", "ln -sfn $OUT d && echo x > d/new"),
            ("write through `..`", "echo x > /usr/../$OUT/new"),
            ("write through a hard link", "ln $OUT/file h && echo x >> h"),
            ("rename to outside", "echo x > n && mv n $OUT/new"),
            ("delete outside", "rm -f $OUT/file && test ! -e $OUT/file"),
            ("change permissions outside", "chmod 777 $OUT/file"),
            ("change the owner outside", "chown 12345 $OUT/file"),
            ("change times outside", "touch -d 2001-01-01 $OUT/file"),
            ("empty a file outside", ": > $OUT/file && test ! -s $OUT/file"),
            ("make a folder outside", "mkdir $OUT/new"),
            ("make a link outside", "ln -s /etc $OUT/new"),
            ("make a pipe outside", "mkfifo $OUT/new"),
            ("swap two files outside", "mv --exchange $OUT/file $OUT/file2"),
            ("write through an open folder", "cd $OUT && echo x > new"),
            ("write through a chain of links", "ln -sfn $OUT c1 && ln -sfn c1 c2 && echo x > c2/new"),
            (
                "write into the home of the login",
                "mkdir -p $H/.config/autostart && echo x > $H/.config/autostart/x.desktop",
            ),
            (
                "write a unit of systemd",
                "mkdir -p $H/.config/systemd/user && echo x > $H/.config/systemd/user/x.service",
            ),
            ("write a cron table", "echo '* * * * * touch x' | crontab -"),
        ],
    ),
    (
        "new `/proc` and `/dev`, read-only",
        &[
            ("write through /proc/1/root", "echo x > /proc/1/root$OUT/new"),
            ("write through /proc/self/root", "echo x > /proc/self/root$OUT/new"),
            ("write into /etc", ": >> /etc/hosts"),
            ("replace a program", "echo x > /usr/bin/ralph-escape"),
            ("make a device", "mknod device b 8 0"),
            (
                "set the core pattern",
                "v=$(cat /proc/sys/kernel/core_pattern); echo \"$v\" > /proc/sys/kernel/core_pattern",
            ),
            ("press SysRq", "echo h > /proc/sysrq-trigger"),
            ("write into /sys", ": >> /sys/kernel/uevent_helper"),
            ("make a cgroup", "mkdir /sys/fs/cgroup/ralph-escape"),
            ("see shared memory of the machine", "ls /dev/shm | grep ralph-fence"),
            ("write to the terminal", "echo x > /dev/tty"),
            ("read a disk", "head -c 1 /dev/sda /dev/vda /dev/nvme0n1 | grep ."),
            ("read the machine's memory", "head -c 1 /dev/mem"),
            ("read the kernel's memory", "head -c 1 /proc/kcore"),
            ("set the kernel's settings by sysctl", "sysctl -w kernel.hostname=ralph-escape"),
        ],
    ),
    (
        "no capability, no mounts of its own",
        &[
            ("remount for writing", "mount -o remount,rw /"),
            ("remount in a user namespace", "unshare -Urm mount -o remount,bind,rw /"),
            ("unmount what hides", "unshare -Urm sh -c 'umount $H/.ssh && grep KEY $H/.ssh/id'"),
            ("mount a folder elsewhere", "unshare -Urm sh -c 'mount --bind $OUT /mnt && echo x > /mnt/new'"),
            ("enter the mounts of process 1", "nsenter -t 1 -m sh -c 'echo x > $OUT/new'"),
            ("enter the mounts of the loop", "nsenter -t $LOOP -m true"),
            ("change the root", "chroot /proc/1/root sh -c 'echo x > $OUT/new'"),
            ("read keys as root of a user namespace", "unshare -Ur grep KEY $H/.ssh/id"),
            (
                "read keys through a mount of the whole system",
                "mkdir -p m && unshare -Urm sh -c 'mount --rbind / m && grep KEY m$H/.ssh/id'",
            ),
            (
                "write through an overlay",
                "mkdir -p m u w && unshare -Urm sh -c \"mount -t overlay overlay -o lowerdir=$OUT,upperdir=$OUT,workdir=w m && echo x > m/new\"",
            ),
            ("load a module", "modprobe dummy"),
            ("set the clock", "date -s \"$(date)\""),
            ("name the machine", "hostname ralph-escape"),
        ],
    ),
    (
        "process namespace",
        &[
            ("see the loop", "grep -q ralph /proc/$LOOP/cmdline"),
            ("signal the loop", "kill -0 $LOOP"),
            ("trace the loop", "head -c 1 /proc/$LOOP/mem"),
            ("read the loop's variables", "cat /proc/$LOOP/environ"),
            ("find the loop by name", "pgrep -x specify-ralph"),
            ("leave a process behind", "setsid sleep $LOOP.25 & false"),
            ("leave a daemon behind", "(setsid setsid sleep $LOOP.75 &) ; false"),
            ("read the loop's folder", "ls /proc/$LOOP/cwd/"),
            ("read the loop's open files", "ls /proc/$LOOP/fd/"),
            ("read the loop's memory map", "cat /proc/$LOOP/maps"),
            ("limit the loop", "prlimit --pid $LOOP --nofile=8"),
            ("slow the loop down", "renice 19 $LOOP"),
            ("leave a process without variables behind", "env -i setsid sleep $LOOP.25 & false"),
            (
                "leave a process behind that ignores signals",
                "(trap '' HUP INT TERM; exec setsid sleep $LOOP.75) & false",
            ),
            ("leave a process behind by nohup", "nohup sleep $LOOP.25 > /dev/null 2>&1 & false"),
            ("leave a process to systemd", "systemd-run --user sleep $LOOP.25"),
            ("leave a process to at", "echo 'sleep 5' | at now"),
            ("leave a process to a container", "docker run -d alpine sleep 5"),
        ],
    ),
    (
        "no new privileges; the bits are taken off",
        &[
            ("get privileges by setuid", "grep -q 'NoNewPrivs:.0' /proc/self/status"),
            ("become root", "sudo -n true"),
            ("have a capability", "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status"),
            ("leave a setuid program", "cp /bin/sh suid && chmod 4755 suid; false"),
            (
                "leave a setgid program in a folder",
                "mkdir -p deep/er && cp /bin/sh deep/er/sgid && chmod 2755 deep/er/sgid; false",
            ),
            ("leave a program with a capability", "cp /bin/sh capable && setcap cap_setuid+ep capable"),
        ],
    ),
    (
        "other `/run` and `/tmp`, dropped variables, hidden sockets",
        &[
            ("see sockets in /run", "find /run -type s | grep ."),
            ("see docker's socket", "test -S /var/run/docker.sock"),
            ("see a socket in /tmp", "test -S $TMPSOCK"),
            ("see a socket beside the keys", "test -S $H/.ssh/agent.sock"),
            ("ask the ssh agent", "test -n \"$SSH_AUTH_SOCK\""),
            ("ask dbus", "test -n \"$DBUS_SESSION_BUS_ADDRESS\""),
            ("ask docker", "test -n \"$DOCKER_HOST\""),
            ("draw on the screen", "test -n \"$DISPLAY\""),
            ("read a token in a variable", "test -n \"$GITHUB_TOKEN\""),
            ("read a password in an address", "test -n \"$DATABASE_URL\""),
            ("see a socket in the home folder", "test -S $H/any/server.sock"),
            ("see a socket in the work tree", "test -S server.sock"),
            ("see docker's socket of Colima", "test -S $H/.colima/default/docker.sock"),
            ("see the ssh agent of a password manager", "test -S $H/.1password/agent.sock"),
            ("read a token in a variable of any name", "test -n \"$MY_SERVICE\""),
            ("read a password in a connection string", "test -n \"$DB_DSN\""),
            ("read a key in JSON in a variable", "test -n \"$SERVICE_ACCOUNT\""),
        ],
    ),
    (
        "hidden files are empty",
        &[
            ("read ssh keys", "grep KEY $H/.ssh/id"),
            ("read ssh keys of the private home", "grep KEY ~/.ssh/id"),
            ("read .netrc", "grep KEY $H/.netrc"),
            ("read .npmrc", "grep KEY $H/.npmrc"),
            ("read cloud credentials", "grep KEY $H/.aws/credentials"),
            ("read kube credentials", "grep KEY $H/.kube/config"),
            ("read docker credentials", "grep KEY $H/.docker/config.json"),
            ("read gpg keys", "grep KEY $H/.gnupg/key"),
            ("read a browser's profile", "grep KEY $H/.mozilla/cookies"),
            ("read another agent's login", "grep KEY $H/.codex/auth.json"),
            ("read the shell's history", "grep KEY $H/.bash_history"),
            ("read a hidden file through a link", "ln -s $H/.netrc n1 && grep KEY n1"),
            ("read a hidden file through a hard link", "ln $H/.netrc n2 && grep KEY n2"),
            ("read the loop's own files", "ls .git/ralph | grep ."),
            ("read a file of hosts' passwords", "grep KEY $H/.git-credentials"),
            ("read the login of GitHub's program", "grep KEY $H/.config/gh/hosts.yml"),
            ("read the login of a package index", "grep KEY $H/.pypirc"),
            ("read a token of models", "grep KEY $H/.cache/huggingface/token"),
            ("read a key of encrypted files", "grep KEY $H/.config/sops/age/keys.txt"),
            ("read an editor's login", "grep KEY $H/.config/github-copilot/hosts.json"),
            ("read settings of a build with a password", "grep KEY $H/.gradle/gradle.properties"),
            ("read the history of fish", "grep KEY $H/.local/share/fish/fish_history"),
            ("read the history of a database", "grep KEY $H/.mysql_history"),
            ("read gpg keys where GNUPGHOME moves them", "grep -r KEY $OUT/gnupg/private-keys-v1.d"),
            ("read kube credentials where KUBECONFIG moves them", "grep KEY $OUT/second.yaml"),
            ("read docker credentials where DOCKER_CONFIG moves them", "grep KEY $OUT/docker/config.json"),
            ("read a login where XDG_CONFIG_HOME moves it", "grep KEY $OUT/config/gh/hosts.yml"),
            ("read cargo's login where CARGO_HOME moves it", "grep KEY $OUT/cargo/credentials.toml"),
            ("read a hidden file through a copy", "cp $H/.netrc n3 && grep KEY n3"),
            (
                "read a hidden file through git",
                "git hash-object --no-filters $H/.netrc | grep $(printf 'KEY\\n' | git hash-object --stdin)",
            ),
        ],
    ),
    (
        "read-only git directory and settings",
        &[
            ("replace a git hook", "mkdir -p .git/hooks; echo x > .git/hooks/pre-push"),
            ("change git's configuration", "git config core.fsmonitor x"),
            (
                "add a filter",
                "echo '*.txt filter=evil' > .gitattributes; git config filter.evil.clean 'touch pwned'",
            ),
            ("move the git directory", "mv .git g"),
            ("remove the git directory", "rm -rf .git 2>/dev/null; test ! -e .git/HEAD"),
            ("write a ref", "echo x > .git/refs/heads/evil"),
            ("change the loop's settings", "echo 'sandbox = \"none\"' >> .specify/ralph.toml"),
            (
                "replace the loop's settings",
                "mv .specify s && mkdir .specify && echo x > .specify/ralph.toml",
            ),
            ("change the agent's settings", "echo x >> $H/.claude/settings.json"),
            ("write a packed ref", "echo x >> .git/packed-refs"),
            ("replace HEAD", "echo x > .git/HEAD"),
            ("replace the index", "echo x > .git/index"),
            ("lock the index", ": > .git/index.lock"),
            ("write an object", "echo x | git hash-object -w --stdin"),
            ("lend objects", "mkdir -p .git/objects/info && echo /tmp > .git/objects/info/alternates"),
            ("hide files by info/exclude", "mkdir -p .git/info && echo x >> .git/info/exclude"),
            (
                "give attributes by info/attributes",
                "mkdir -p .git/info && echo '* filter=x' > .git/info/attributes",
            ),
            ("settings of one work tree", "git config --worktree core.hooksPath x"),
            ("stash the user's work", "git stash --include-untracked"),
            ("begin another branch", "git checkout -b evil"),
            ("write into the loop's own files", "echo x > .git/ralph/x; false"),
        ],
    ),
];

/// Each with its number.
fn attempts() -> impl Iterator<Item = (usize, (&'static str, &'static str))> {
    ATTEMPTS.iter().flat_map(|(_, attempts)| attempts.iter().copied()).enumerate()
}

/// What variables lead to, in the folder outside.
const MOVED: [&str; 6] = [
    "gnupg/private-keys-v1.d/key",
    "first.yaml",
    "second.yaml",
    "docker/config.json",
    "config/gh/hosts.yml",
    "cargo/credentials.toml",
];

/// Sockets of programs that act for the user, in the home folder.
const SOCKETS: [&str; 4] =
    [".ssh/agent.sock", "any/server.sock", ".colima/default/docker.sock", ".1password/agent.sock"];

/// Returns a scene on a disk, with a home that has something to hide, and the rest that attempts are about.
fn scene() -> (Sandbox, tempfile::TempDir) {
    let scene = Sandbox::new();
    // Scenes are in /dev/shm where they can: there nothing would be seen anyway.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let hidden = [
        ".ssh/id",
        ".netrc",
        ".npmrc",
        ".aws/credentials",
        ".kube/config",
        ".docker/config.json",
        ".gnupg/key",
        ".mozilla/cookies",
        ".codex/auth.json",
        ".bash_history",
        ".git-credentials",
        ".config/gh/hosts.yml",
        ".pypirc",
        ".cache/huggingface/token",
        ".config/sops/age/keys.txt",
        ".config/github-copilot/hosts.json",
        ".gradle/gradle.properties",
        ".local/share/fish/fish_history",
        ".mysql_history",
    ];
    for name in hidden.into_iter().chain([".bashrc", ".claude/settings.json"]) {
        let path = disk.path().join("home").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "KEY\n").unwrap();
    }
    fs::create_dir(disk.path().join("out")).unwrap();
    for (name, text) in
        [("file", "mine\n"), ("file2", "mine too\n")].into_iter().chain(MOVED.map(|name| (name, "KEY\n")))
    {
        let path = disk.path().join("out").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (scene, disk)
}

fn contents(folder: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let is_cache = |path: &Path| path.components().any(|part| part.as_os_str() == ".cache");
    let found = files(folder).into_iter().filter(|path| !is_cache(path) && path.is_file());
    found.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Returns true if bubblewrap can run here; says why not.
pub fn has_bubblewrap() -> bool {
    let tried =
        std::process::Command::new("bwrap").args(["--unshare-user", "--ro-bind", "/", "/", "true"]).output();
    match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => eprintln!("skipped: bwrap: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("skipped: bwrap: {error}"),
    }
    false
}

/// Returns true if srt can run here; says why not.
fn has_srt() -> bool {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: srt: not for root");
        return false;
    }
    if Sandbox::new().repo().starts_with("/dev") {
        eprintln!("skipped: srt: commands have a /dev of their own, where the project is not: set TMPDIR");
        return false;
    }
    match std::process::Command::new("srt").arg("--version").output() {
        Ok(output) if output.status.success() => return true,
        tried => eprintln!("skipped: srt: {tried:?}"),
    }
    false
}

/// Folders of which commands in bubblewrap have their own. What they seem to do to a home folder below them, as in a clone
/// in `/tmp`, they do to that; whether something outside was changed is seen outside.
const OWN_IN_BWRAP: &[&str] = &["/tmp", "/var/tmp"];

/// What older versions of srt let through of them; 0.0.83 nothing.
const THROUGH_OLDER_SRT: &[&str] = &["see a socket in /tmp"];

/// Lets an agent in the sandbox that `words` ask for try everything. Returns what it could do. Nothing outside was changed.
#[track_caller]
fn escapes(words: &str) -> Vec<&'static str> {
    let (scene, disk) = scene();
    let (home, out) = (disk.path().join("home"), disk.path().join("out"));
    let socket = tempfile::Builder::new().prefix("ralph-fence-").tempdir_in("/tmp").unwrap();
    let in_tmp = socket.path().join("agent.sock");
    let _in_tmp = UnixListener::bind(&in_tmp).unwrap();
    // A path of a socket is short.
    std::os::unix::fs::symlink(&home, socket.path().join("home")).unwrap();
    std::os::unix::fs::symlink(scene.repo(), socket.path().join("repo")).unwrap();
    let _in_home = SOCKETS.map(|name| {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        UnixListener::bind(socket.path().join("home").join(name)).unwrap()
    });
    let _in_work_tree = UnixListener::bind(socket.path().join("repo/server.sock")).unwrap();
    let _shared = Path::new("/dev/shm")
        .is_dir()
        .then(|| tempfile::Builder::new().prefix("ralph-fence-").tempfile_in("/dev/shm").unwrap());
    // What ran as its owner before is the user's own doing.
    scene.write("shared/mine", "x");
    let mode_of = |name: &str| fs::metadata(scene.repo().join(name)).unwrap().permissions().mode() & 0o7777;
    let own = [("shared/mine", 0o4755), ("shared", 0o2775)];
    for (name, mode) in own {
        fs::set_permissions(scene.repo().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = contents(disk.path());
    let mut script = format!(
        "export H={} OUT={} TMPSOCK={}\ncat > /dev/null\n\
         while [ ! -s loop-pid ]; do sleep 0.05; done\nexport LOOP=$(cat loop-pid)\n",
        home.display(),
        out.display(),
        in_tmp.display()
    );
    for (number, (_, attempt)) in attempts() {
        script.push_str(&format!(
            "(\n{attempt}\n) > /dev/null 2>&1 < /dev/null && echo escaped {number} || echo failed {number}\n"
        ));
    }
    script.push_str(
        "rm -rf loop-pid l d h n n1 n2 n3 c1 c2 m u w .gitattributes\nsed -i 's/\\[ \\]/[x]/' $RALPH_TASKS\n",
    );
    scene.agent_sh(&script).validate("test -e agent.sh");
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let service_account = format!(
        "{{\"type\":\"service_account\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n{key}\\n-----END PRIVATE KEY-----\\n\"}}"
    );
    let running = scene
        .call(words)
        .env("HOME", &home)
        .env("SSH_AUTH_SOCK", &in_tmp)
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")
        .env("DOCKER_HOST", "unix:///x")
        .env("DISPLAY", ":0")
        .env("GITHUB_TOKEN", "x")
        .env("DATABASE_URL", "postgres://me:pw@host/db")
        .env("MY_SERVICE", format!("ghp_{}", "aB3dE5gH7j".repeat(4).split_at(36).0))
        .env("DB_DSN", "Server=db.example;User Id=app;Password=hunter22;")
        .env("SERVICE_ACCOUNT", service_account)
        .env("GNUPGHOME", out.join("gnupg"))
        .env("KUBECONFIG", std::env::join_paths([out.join("first.yaml"), out.join("second.yaml")]).unwrap())
        .env("DOCKER_CONFIG", out.join("docker"))
        .env("XDG_CONFIG_HOME", out.join("config"))
        .env("CARGO_HOME", out.join("cargo"))
        .spawn();
    let pid = running.pid();
    scene.write("loop-pid", pid.to_string());
    let ended = running.wait().code(0);
    let mechanism = scene.session().end()["sandbox"]["mechanism"].as_str().unwrap().to_owned();
    assert!(ended.text().contains(&format!("sandbox {mechanism} ")), "{ended}");
    for name in ["GITHUB_TOKEN", "DATABASE_URL", "MY_SERVICE", "DB_DSN", "SERVICE_ACCOUNT", "DOCKER_HOST"] {
        assert!(
            ended.text().lines().any(|line| line.contains("not passed on: ") && line.contains(name)),
            "{ended}"
        );
    }
    ended.stdout_has("setuid and setgid were taken off: ");
    for (name, mode) in [("suid", 0o755), ("deep/er/sgid", 0o755)].into_iter().chain(own) {
        assert_eq!(mode_of(name), mode, "{name}");
    }
    let said = scene.session().text(1, "agent/stdout");
    let has = |word: &str, number: usize| said.lines().any(|line| line == format!("{word} {number}"));
    let is_apart = mechanism == "bwrap" && OWN_IN_BWRAP.iter().any(|folder| disk.path().starts_with(folder));
    let is_of_its_own = |attempt: &str| {
        is_apart && ["$H/", "$OUT"].iter().any(|path| attempt.contains(path)) && !attempt.contains("KEY")
    };
    let escaped =
        attempts().filter(|(number, (_, attempt))| has("escaped", *number) && !is_of_its_own(attempt));
    let escaped = escaped.map(|(_, (name, _))| name).collect();
    assert_eq!(said.lines().count(), attempts().count(), "{said}");
    assert_eq!(contents(disk.path()), before, "nothing outside was changed");
    assert!(
        !scene.repo().join(".git/ralph/x").exists(),
        "srt has an empty folder there, which is thrown away"
    );
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let running: Vec<_> =
        processes.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok()).collect();
    let is_left = |line: &String| line.starts_with(&format!("sleep\0{pid}."));
    assert!(!running.iter().any(is_left), "{running:?}");
    escaped
}

#[test]
fn every_attempt_to_escape_fails() {
    if has_bubblewrap() {
        assert_eq!(escapes("--sandbox bwrap --no-lane"), Vec::<&str>::new());
    }
}

#[test]
fn the_table_of_attempts_is_current() {
    let mut table = "| attempts | stopped by |\n|---|---|\n".to_owned();
    for (stopped_by, attempts) in ATTEMPTS {
        for names in attempts.chunks(6) {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            table.push_str(&format!("| {} | {stopped_by} |\n", names.join("; ")));
        }
    }
    let end = "<!-- end of the attempts -->";
    docs::is_current("docs/sandbox.md", (docs::WRITTEN, end), &table);
}

#[test]
fn attempts_to_escape_from_srt_fail_but_for_those_that_are_known() {
    if has_srt() {
        let escaped = escapes("--sandbox srt --no-lane --set sandbox.network=none");
        assert!(escaped.iter().all(|name| THROUGH_OLDER_SRT.contains(name)), "{escaped:?}");
    }
}

#[test]
fn a_closed_network_is_closed_for_the_validation_and_open_for_the_agent() {
    if !has_bubblewrap() {
        return;
    }
    let (scene, disk) = scene();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let connect = format!("bash -c '< /dev/tcp/127.0.0.1/{}'", listener.local_addr().unwrap().port());
    scene.agent_sh(&format!("{connect} && echo connected\nsed -i 's/\\[ \\]/[x]/' $RALPH_TASKS"));
    scene.validate(&format!("! {connect} 2>/dev/null"));
    let words = "--sandbox bwrap --no-lane --set sandbox.validation-network=none";
    scene.call(words).env("HOME", disk.path().join("home")).run().code(0);
    assert_eq!(scene.session().text(1, "agent/stdout"), "connected\n");
    assert_eq!(scene.session().end()["sandbox"]["mechanism"], "bwrap");
}

#[test]
fn without_a_fence_that_holds_nothing_starts() {
    let scene = Sandbox::with_succeeding_agent(1);
    for (words, expected) in [
        (
            ["--sandbox", "env {command}"],
            "sandbox `env` does not hold: a test command wrote outside of its folder",
        ),
        (["--sandbox", "no-such {command}"], "sandbox `no-such`: there is no program `no-such` on the PATH"),
    ] {
        let refused = scene.call(words).env("SPECKIT_RALPH_LANE", "false").run().code(3);
        assert!(refused.talk().contains(expected) && refused.talk().contains("hint: "), "{refused}");
        assert!(scene.sessions().is_empty());
    }
    for (set, expected) in [
        ("sandbox.network=a.example", "bwrap cannot filter the network by host"),
        ("commit=task", "which cannot write the repository from a sandbox"),
    ] {
        if has_bubblewrap() {
            let refused = scene.ralph(["--sandbox", "bwrap", "--no-lane", "--set", set]).code(3);
            assert!(refused.talk().contains(expected), "{refused}");
        }
    }
    let open = scene.ralph("--no-sandbox").code(0);
    assert!(open.text().contains("no sandbox"), "{open}");
}

#[test]
fn each_attempt_names_the_sandbox_that_it_ran_in() {
    if !has_bubblewrap() {
        return;
    }
    for (first, then) in [("--sandbox bwrap", "--no-sandbox"), ("--no-sandbox", "--sandbox bwrap")] {
        let (scene, disk) = scene();
        scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n");
        scene.agent_sh("sed -i \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" $RALPH_TASKS");
        for (words, code) in [(format!("run --no-lane -n 1 {first}"), 4), (format!("resume {then}"), 0)] {
            scene.call(words.as_str()).env("HOME", disk.path().join("home")).run().code(code);
        }
        for (number, words) in [("1", first), ("2", then)] {
            let shown = scene.ralph(["show", number]).code(0);
            assert_eq!(shown.text().contains("sandbox     bwrap "), words.ends_with("bwrap"), "{shown}");
        }
    }
}

#[test]
fn a_stopped_agent_in_the_sandbox_may_save_its_state_and_is_gone() {
    if !has_bubblewrap() {
        return;
    }
    let (scene, disk) = scene();
    scene.agent_sh("trap 'echo saved > saved; exit 0' INT\n: > begun\nwhile :; do sleep 0.05; done");
    let mut running = scene.call("--sandbox bwrap --no-lane").env("HOME", disk.path().join("home")).spawn();
    running.wait_for_file("begun").signal(rustix::process::Signal::INT);
    running.wait().code(130);
    assert_eq!(fs::read_to_string(scene.repo().join("saved")).unwrap(), "saved\n");
}

#[test]
fn in_a_lane_the_agent_commits_in_its_own_repository_and_cannot_write_the_users() {
    for (words, is_possible) in [
        ("run --sandbox bwrap", has_bubblewrap as fn() -> bool),
        ("run --sandbox srt --set sandbox.network=none", has_srt),
    ] {
        if is_possible() {
            agent_commits_in_its_lane(words);
        }
    }
}

#[track_caller]
fn agent_commits_in_its_lane(words: &str) {
    let scene = Sandbox::new();
    let agent = "cat > /dev/null\necho $RALPH_TASK > work\necho x >> $REPO/README\n\
        for path in $REPO/.git/config $REPO/.git/hooks/pre-push .git/../../1.git/HEAD; do\n\
        (echo x >> $path) 2> /dev/null && echo wrote $path\ndone\n\
        git config core.pager x; git add --all && git commit --quiet -m mine && echo committed\n\
        sed \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\" > new && mv new \"$RALPH_TASKS\"\n";
    let agent = agent.replace("$REPO", scene.repo().to_str().unwrap());
    scene.tasks("- [ ] T001 Write one").agent_sh(&agent).validate("test -e work").commit("Ready");
    let before = contents(&scene.repo().join(".git/hooks"));
    // Where a lane is, commits are its own.
    scene.git("config ralph.commit task");
    let run = scene.call(words).run().code(0);
    run.stderr_has("; it comes with the sandbox (--no-lane: without)")
        .stdout_has("1 commit on ralph/001-login: git merge --ff-only ralph/001-login");
    assert_eq!(scene.session().text(1, "agent/stdout"), "committed\n");
    assert_eq!(scene.git("show ralph/001-login:work"), "T001");
    assert_eq!(scene.git("status --porcelain"), "");
    assert_eq!(scene.git("config --default= core.pager"), "");
    assert_eq!(contents(&scene.repo().join(".git/hooks")), before);
}

/// Uses its login as servers have it: each token is taken once, for another one.
const RENEWS: &str = r#"cat > /dev/null
error='{"type":"result","is_error":true,"result":"Revoked.","api_error":"authentication_failed","api_error_status":401}'
renew() {
  token=$(tr -dc 0-9 < ~/.fake/login)
  [ "$token" = "$(cat $OUT/token)" ] || { echo $RALPH_TASK >> $OUT/refused; echo "$error"; exit 1; }
  echo $((token + 1)) > $OUT/token
  printf '{"token":"%s"}' $((token + 1)) > ~/.fake/login
}
answer() { echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Hello."}]}}'; }
"#;

/// Does the task and says so.
const DOES: &str = r#"
echo $RALPH_TASK > work-$RALPH_TASK
sed "s/\[ \] $RALPH_TASK/[x] $RALPH_TASK/" "$RALPH_TASKS" > new && mv new "$RALPH_TASKS"
echo '{"type":"result","is_error":false,"result":"done"}'
"#;

/// Runs two agents with one login at once. `meanwhile` gets the folder outside, and the file of the login.
fn two_agents(deed: &str, meanwhile: impl FnOnce(&Path, &Path)) -> Option<Sandbox> {
    if !has_bubblewrap() {
        return None;
    }
    let scene = Sandbox::new();
    let (home, out) = (scene.outside("home-of-login"), scene.outside("out"));
    fs::create_dir_all(home.join(".fake")).unwrap();
    fs::create_dir_all(&out).unwrap();
    let login = home.join(".fake/login");
    fs::write(&login, r#"{"token":"1"}"#).unwrap();
    fs::write(out.join("token"), "1\n").unwrap();
    for name in ["a", "b"] {
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, out.join(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    let script = format!("{RENEWS}{deed}{DOES}").replace("$OUT", out.to_str().unwrap());
    scene.write("fake.sh", script).tasks("- [ ] T001 [P] One\n- [ ] T002 [P] Two").validate("true");
    scene.agent(&format!(
        "[agents.fake]\ncommand = [\"sh\", \"fake.sh\"]\nparser = \"claude\"\n\
         credentials = [\"~/.fake/login\"]\n[sandbox]\nmechanism = \"bwrap\"\nwrite = [{:?}]\n",
        out.to_str().unwrap()
    ));
    scene.commit("Ready");
    let running = scene.call("run -j 2").env("HOME", &home).in_real_time().spawn();
    meanwhile(&out, &login);
    let run = running.wait().code(0);
    let run = run.stdout_has("all 2 tasks done");
    let all = format!("{}{}", run.text(), run.talk());
    assert!(!all.contains("cannot be used") && !all.contains("fake's login"), "{all}");
    assert_eq!(fs::read_to_string(out.join("token")).unwrap(), "3\n");
    assert_eq!(fs::read_to_string(&login).unwrap(), r#"{"token":"3"}"#);
    Some(scene)
}

#[test]
fn agents_with_one_login_start_one_after_the_other() {
    // The first one runs until the second one has renewed what it renewed.
    let deed = "renew; answer\nif mkdir $OUT/first 2>/dev/null; then cat $OUT/a; else echo > $OUT/a; fi\n";
    let Some(scene) = two_agents(deed, |_, _| {}) else { return };
    assert!(!scene.outside("out/refused").exists());
}

#[test]
fn an_agent_whose_login_another_one_renewed_begins_again_without_a_failure() {
    let deed = "answer\n\
                if [ $RALPH_TASK = T001 ]; then cat $OUT/a; renew; cat $OUT/b;\n\
                elif [ ! -e $OUT/refused ]; then echo > $OUT/a; until [ -e $OUT/go ]; do sleep 0.02; done; renew;\n\
                else renew; echo > $OUT/b; fi\n";
    let Some(scene) = two_agents(deed, |out, login| {
        wait_until("the login went back", || {
            fs::read_to_string(login).is_ok_and(|login| login.contains('2')).then_some(())
        });
        fs::write(out.join("go"), "").unwrap();
    }) else {
        return;
    };
    assert_eq!(fs::read_to_string(scene.outside("out/refused")).unwrap(), "T002\n");
    let sessions = scene.sessions();
    let outcomes: Vec<String> =
        sessions.iter().flat_map(|session| session.trailers("Ralph-Outcome")).collect();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "interrupted").count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| outcome != "failure"), "{outcomes:?}");
}

#[test]
fn filters_of_git_run_inside_and_so_does_git_in_repositories_of_the_agents() {
    if !has_bubblewrap() {
        return;
    }
    let (scene, disk) = scene();
    let (home, out) = (disk.path().join("home"), disk.path().join("out"));
    for (key, command) in [
        ("case.clean", "sh filters/up.sh %f"),
        ("case.smudge", "sh filters/down.sh"),
        ("long.process", "sh filters/long.sh"),
    ] {
        scene.git(["config", &format!("filter.{key}"), command]);
    }
    scene.git(["config", "include.path", "../filters/settings"]);
    scene.write("filters/settings", "").write("filters/up.sh", "tr a-z A-Z").write("filters/down.sh", "cat");
    scene.write(".gitattributes", "*.case filter=case\n*.long filter=long\n");
    // What an agent writes into each program that git outside of the fence would run.
    let evil = format!(
        "echo \"$0 $1\" >> {repo}/ran; echo x > {out}/new; echo x >> {home}/.bashrc; \
         grep -h KEY {home}/.ssh/id {home}/.netrc; printenv GITHUB_TOKEN; tr a-z A-Z",
        repo = scene.repo().display(),
        out = out.display(),
        home = home.display()
    );
    let agent = format!(
        "cat > /dev/null\ncat > filters/up.sh <<'EOF'\n{evil}\nEOF\n\
         cp filters/up.sh filters/down.sh; sed 's/tr a-z A-Z//' filters/up.sh > filters/long.sh\n\
         echo text > \"it's 100%.case\"; echo text > b.long\n\
         git init --quiet nested && cd nested && git config filter.mine.clean 'sh ../filters/up.sh'\n\
         git config core.fsmonitor 'sh ../filters/up.sh'\n\
         echo '* filter=mine' > .gitattributes; echo a > file; git add --all\n\
         git -c user.name=A -c user.email=a@b commit --quiet -m nested; echo b > file; cd ..\n\
         echo '[filter \"case\"] clean = touch pwned' >> filters/settings && echo escaped\n\
         mv filters/settings s && echo escaped\n\
         sed -i 's/\\[ \\]/[x]/' $RALPH_TASKS\n"
    );
    scene.agent_sh(&agent).validate("test -e agent.sh").commit("Ready").agent_uses_git().try_no_hints();
    let before = contents(disk.path());
    scene.call("--sandbox bwrap --no-lane").env("HOME", &home).env("GITHUB_TOKEN", "KEY").run().code(0);
    assert_eq!(scene.session().text(1, "agent/stdout"), "");
    assert_eq!(contents(disk.path()), before, "nothing outside was changed");
    let ran = scene.read("ran");
    for words in ["filters/up.sh it's 100%.case", "../filters/up.sh", "filters/long.sh"] {
        assert!(ran.contains(words), "{words}: {ran}");
    }
    let snapshot = scene.session().iteration(1)["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(scene.git(["show", &format!("{snapshot}:it's 100%.case")]), "TEXT");
}

#[test]
fn filters_run_inside_at_the_first_checkout_of_a_lane_and_where_one_that_died_is_recovered() {
    if !has_bubblewrap() {
        return;
    }
    let (scene, disk) = scene();
    let (home, out) = (disk.path().join("home"), disk.path().join("out"));
    scene.git(["config", "filter.case.clean", "sh filters/up.sh"]);
    scene.git(["config", "filter.case.smudge", "sh filters/down.sh"]);
    scene.write("filters/up.sh", "cat").write(".gitattributes", "*.case filter=case\n").write("z.case", "a");
    let evil = format!(
        "echo x > {out}/new; echo x >> {home}/.bashrc; grep -h KEY {home}/.ssh/id {home}/.netrc; tr a-z A-Z",
        out = out.display(),
        home = home.display()
    );
    scene.write("filters/down.sh", &evil);
    scene.agent_sh(
        "cat > /dev/null\nif [ $RALPH_ITERATION = 1 ]; then cp filters/down.sh filters/up.sh; echo b > b.case; \
         : > begun; sleep 1000; fi\nsed -i 's/\\[ \\]/[x]/' $RALPH_TASKS",
    );
    scene.validate("test -e agent.sh").commit("Ready");
    let before = contents(disk.path());
    // The home is inside of this repository, where no lane can be.
    let lanes = scene.outside("lanes");
    let set = format!("lanes.dir={}", lanes.display());
    let mut running = scene.call(["run", "--sandbox", "bwrap", "--set", &set]).env("HOME", &home).spawn();
    let lane = || Some(fs::read_dir(&lanes).ok()?.flatten().next()?.path().join("1"));
    running.wait_for("the agent in its lane", |_| lane().is_some_and(|lane| lane.join("begun").exists()));
    assert_eq!(fs::read_to_string(lane().unwrap().join("z.case")).unwrap(), "A");
    running.kill().code(137);
    scene.call("resume").env("HOME", &home).run().code(0);
    assert_eq!(contents(disk.path()), before, "nothing outside was changed");
    let [cut, done] = [1, 2].map(|number| scene.session().iteration(number));
    assert_eq!((&cut["outcome"], &done["outcome"]), (&"interrupted".into(), &"success".into()));
    assert_eq!(scene.git(["show", &format!("{}:b.case", cut["snapshot"].as_str().unwrap())]), "B");
}

#[test]
fn settings_of_git_that_an_agent_could_put_into_the_work_tree_are_refused() {
    if !has_bubblewrap() {
        return;
    }
    let scene = Sandbox::with_succeeding_agent(1);
    scene.git(["config", "include.path", "../settings"]);
    let refused = scene.ralph("--sandbox bwrap --no-lane").code(3);
    assert!(refused.talk().contains("project/settings, which the agent could write"), "{refused}");
    assert!(refused.talk().contains("hint: touch "), "{refused}");
}

#[test]
fn an_agent_program_that_the_sandbox_hides_is_refused_at_the_start() {
    if !has_bubblewrap() {
        return;
    }
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").program("claude", "#!/bin/sh\necho 2.1.330\n").commit("Ready");
    let words = "run --agent claude --validate true --no-lane --sandbox bwrap";
    let hidden = format!("{words} --set sandbox.hide={}", scene.outside("bin").display());
    let refused = scene.call(&hidden).env("IS_SANDBOX", "1").run().code(3);
    refused
        .stderr_has("agent program `claude` does not start in the sandbox: the sandbox hides ")
        .stderr_has("hint: `--set sandbox.show=");
    assert!(scene.sessions().is_empty(), "nothing was begun");
}

type Pairs = &'static [(&'static str, &'static str)];

/// What leads programs outside of the sandbox to one of the work tree: variables, settings of git, and files that the agent makes.
/// `$R` is the work tree, `$LINK` a folder outside with a link into it.
const WAYS_TO_PROGRAMS: &[(&str, Pairs, Pairs)] = &[
    ("an empty entry first", &[("PATH", ":$PATH")], &[]),
    ("an empty entry last", &[("PATH", "$LINK:$PATH:")], &[]),
    ("an empty entry between", &[("PATH", "/nowhere::$PATH")], &[]),
    ("the present folder", &[("PATH", ".:$PATH")], &[]),
    ("a relative folder", &[("PATH", "bin:./bin:$PATH")], &[]),
    ("a folder of the work tree", &[("PATH", "$R/bin:$PATH")], &[]),
    ("a link to a folder of the work tree", &[("PATH", "$LINK/bin:$PATH")], &[]),
    (
        "variables of git",
        &[("GIT_PAGER", "./evil"), ("PAGER", "./evil"), ("GIT_EXTERNAL_DIFF", "./evil")],
        &[],
    ),
    ("a folder of git's own programs", &[("GIT_SSH_COMMAND", "./evil"), ("GIT_EDITOR", "$R/evil")], &[]),
    (
        "programs that sign",
        &[],
        &[("gpg.program", "./evil"), ("commit.gpgSign", "true"), ("log.showSignature", "true")],
    ),
    ("programs that show", &[], &[("core.pager", "sh evil"), ("diff.external", "$R/evil")]),
    ("a program that converts", &[], &[("diff.x.textconv", "./evil"), ("diff.x.command", "./evil")]),
    ("a program that merges", &[], &[("merge.x.driver", "./evil %A"), ("core.fsmonitor", "./evil")]),
];

#[test]
fn no_program_of_the_host_is_one_of_the_work_tree_and_commands_inside_find_theirs() {
    if !has_bubblewrap() {
        return;
    }
    for (way, variables, settings) in WAYS_TO_PROGRAMS {
        let (scene, disk) = scene();
        let (home, link) = (disk.path().join("home"), disk.path().join("out/link"));
        std::os::unix::fs::symlink(scene.repo(), &link).unwrap();
        let ran = disk.path().join("ran");
        let path = scene
            .hermetic("true")
            .get_envs()
            .find(|(name, _)| *name == "PATH")
            .unwrap()
            .1
            .unwrap()
            .to_owned();
        let filled = |text: &str| {
            let text = text.replace("$PATH", path.to_str().unwrap()).replace("$LINK", link.to_str().unwrap());
            text.replace("$R", scene.repo().to_str().unwrap())
        };
        scene
            .executable("bin/tool", "true")
            .executable("tool", "true")
            .write(".gitattributes", "*.x diff=x merge=x\n");
        scene.write("a.x", "a\n");
        for (key, value) in *settings {
            scene.git(["config", key, &filled(value)]);
        }
        // One that a person calls by name, as from a virtual environment, is found inside.
        let tool = if variables.iter().any(|(name, _)| *name == "PATH") { "tool" } else { "true" };
        let evil = format!(
            "#!/bin/sh\necho \"{way}: $0 $*\" >> {}\nexec /usr/bin/$(basename $0) \"$@\"\n",
            ran.display()
        );
        let agent = format!(
            "cat > /dev/null\ncat > evil <<'EOF'\n{evil}EOF\nchmod +x evil\n\
             for name in git gpg less sh env bwrap node; do cp evil $name; cp evil bin/$name; done\necho b > a.x\n\
             sed -i 's/\\[ \\]/[x]/' $RALPH_TASKS\n"
        );
        scene.agent_sh(&agent).validate(tool).try_no_hints();
        scene.git("-c commit.gpgSign=false add --all");
        scene.git("-c commit.gpgSign=false commit --quiet -m Ready");
        let call = |words: &str| {
            let call = scene.call(words).env("HOME", &home);
            variables.iter().fold(call, |call, (name, value)| call.env(name, filled(value)))
        };
        let run = call("--sandbox bwrap --no-lane").run().code(0);
        if tool == "tool" {
            run.stderr_has("outside of the sandbox the PATH is used without ");
        }
        for words in [
            "status",
            "log",
            "show 1",
            "show 1 --patch",
            "diff",
            "tasks",
            "stats",
            "memory",
            "fsck",
            "doctor",
        ] {
            let _ended = call(words).run();
        }
        let ran = fs::read_to_string(&ran).unwrap_or_default();
        assert_eq!(ran, "", "{way}");
        scene.skip_final_fsck();
    }
}

#[test]
fn a_result_lands_without_hooks_of_the_user_that_an_agent_may_have_written_and_with_them_without_a_sandbox() {
    if !has_bubblewrap() {
        return;
    }
    for (flag, is_fenced) in [("--sandbox bwrap", true), ("--no-sandbox --lane", false)] {
        let (scene, disk) = scene();
        scene.tasks("- [ ] T001 Write one");
        // As husky has it: git's hooks call what lies in the work tree.
        scene.executable("hooks/post-merge", ". ./.husky/post-merge").executable(".husky/post-merge", "true");
        scene.git(["config", "core.hooksPath", "hooks"]);
        scene.agent_sh(&format!(
            "cat > /dev/null\necho x > work\necho 'echo ran > {}' > .husky/post-merge\n\
             sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"\n",
            disk.path().join("ran").display()
        ));
        scene.validate("test -e work").commit("Ready").agent_uses_git();
        let run = scene.call(&*format!("run {flag} --land")).run().code(0);
        let run = run.stdout_has("landed: 1 commit of ralph/001-login");
        assert_eq!(disk.path().join("ran").exists(), !is_fenced, "{flag}: {run}");
        assert_eq!(run.text().contains("git's hooks were not run (post-merge)"), is_fenced, "{run}");
        assert_eq!(scene.read("work"), "x\n");
    }
}
