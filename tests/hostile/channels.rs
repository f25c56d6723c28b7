//! Secrets of many kinds through every channel at once. What is found where it must not be is named by kind and channel.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up or searched has failed")]

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use regex::bytes::Regex;
use serde_json::{Value, json};

use crate::sandbox::sound::files;
use crate::sandbox::{Run, Sandbox};

/// Kinds of secrets, with BODY in the place of what nobody may see. They are put together here, so that no file of ours
/// holds anything that looks like one.
const KINDS: &[(&str, &str)] = &[
    ("key of an issuer", "ghp_BODY"),
    ("environment file", "API_TOKEN=BODY"),
    ("JSON", "{\"api_key\": \"BODY\", \"id\": 1}"),
    ("YAML", "password: BODY"),
    ("connection string", "Server=x;User Id=sa;Password=BODY;Encrypt=true"),
    ("password in an address", "postgres://app:BODY@db.example.org/x"),
    ("signed address", "https://x.example.org/y?sv=1&sig=BODY&se=2"),
    ("header", "curl -H 'Authorization: Bearer BODY' https://x.example.org"),
    ("cookie", "Set-Cookie: sid=BODY; Path=/"),
    ("mysql", "mysql -u root -pBODY shop"),
    ("sshpass", "sshpass -p BODY ssh me@host"),
    ("curl -u", "curl -u me:BODY https://x.example.org"),
    ("SQL", "CREATE USER me IDENTIFIED BY 'BODY';"),
    ("percent-encoded", "GET /x?t=ghp%5FBODY&x=1"),
    ("web token", "eyJhbGciOiJIUzI1NiJ9.BODY.BODY"),
    ("coloured", "\u{1b}[31mghp_\u{1b}[0mBODY"),
    ("private key", "-----BEGIN RSA PRIVATE KEY-----\nBODYBODY\n-----END RSA PRIVATE KEY-----"),
];

/// What a channel can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carries {
    Text,
    /// Without line ends and escape sequences.
    Line,
    /// A word without anything around it.
    Word,
}

/// The secrets that were planted: what to look for, and which kind in which channel it is.
#[derive(Debug, Default)]
struct Planted {
    needles: BTreeMap<String, (&'static str, &'static str)>,
    finder: OnceCell<Regex>,
}

impl Planted {
    /// Makes one secret of each kind that the channel can carry.
    fn secrets(&mut self, channel: &'static str, carries: Carries) -> Vec<String> {
        let fits = |pattern: &str| match carries {
            Carries::Text => true,
            Carries::Line => !pattern.contains(char::is_control),
            Carries::Word => pattern == "ghp_BODY",
        };
        let kinds = KINDS.iter().filter(|(_, pattern)| fits(pattern));
        let secret = |(kind, pattern): &(&'static str, &str)| {
            let body = self.body(kind, channel);
            pattern.replace("BODY", &body)
        };
        kinds.map(secret).collect()
    }

    fn line(&mut self, channel: &'static str) -> String {
        self.secrets(channel, Carries::Line).join(" and then ")
    }

    fn word(&mut self, channel: &'static str) -> String {
        self.secrets(channel, Carries::Word).concat()
    }

    /// What nobody can guess, the same in every run. Half of it is looked for: what was cut off leaves the other half.
    fn body(&mut self, kind: &'static str, channel: &'static str) -> String {
        let letters = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let mut state = self.needles.len() as u64 + 1;
        let mut half = |digit: char| {
            let mut text: String = (0..17)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    char::from(letters[(state >> 33) as usize % letters.len()])
                })
                .collect();
            text.push(digit);
            self.needles.insert(text.clone(), (kind, channel));
            text
        };
        half('5') + &half('7')
    }

    /// Which secrets `bytes` hold, but for those of channels that may be there.
    fn found(&self, place: &str, bytes: &[u8], allowed: &[&str]) -> BTreeSet<String> {
        let any = || self.needles.keys().map(String::as_str).collect::<Vec<_>>().join("|");
        let finder = self.finder.get_or_init(|| Regex::new(&any()).unwrap());
        let found = finder.find_iter(bytes).map(|found| std::str::from_utf8(found.as_bytes()).unwrap());
        let found: BTreeSet<_> = found.map(|needle| self.needles[needle]).collect();
        let found = found.into_iter().filter(|(_, channel)| !allowed.contains(channel));
        found.map(|(kind, channel)| format!("{kind}, by way of {channel}: in {place}")).collect()
    }
}

/// The lines of an agent like Claude Code.
fn stream(planted: &mut Planted) -> String {
    let text = planted.secrets("agent's words", Carries::Text).join("\n");
    let mut content = vec![json!({"type": "text", "text": text})];
    let mut results = Vec::new();
    let inputs = planted.secrets("tool input", Carries::Text);
    let outputs = planted.secrets("tool result", Carries::Text);
    let mut call = |name: &str, input: Value, result: &str| {
        let id = results.len().to_string();
        content.push(json!({"type": "tool_use", "id": &id, "name": name, "input": input}));
        results.push(json!({"type": "tool_result", "tool_use_id": &id, "content": result}));
    };
    for (input, output) in inputs.iter().zip(&outputs) {
        call("Bash", json!({"command": input}), output);
    }
    for key in planted.secrets("key in a tool's input", Carries::Line) {
        call("Other", json!({key: 1}), "");
    }
    let long = format!("echo {}", "y ".repeat(85));
    call("Bash", json!({"command": long.clone() + &planted.word("cut tool input")}), "");
    call("Bash", json!({"command": "true"}), &(long + &planted.word("cut tool result")));
    call(&planted.word("tool name"), json!({}), "");
    let listed =
        |secrets: Vec<String>| secrets.iter().map(|secret| format!("- {secret}\n")).collect::<String>();
    let learned = listed(planted.secrets("learnings", Carries::Line));
    let decided = listed(planted.secrets("decisions", Carries::Line));
    let last = format!("Learnings:\n{learned}\nDecisions:\n{decided}");
    let events = [
        json!({"type": "assistant", "message": {"content": content}}),
        json!({"type": "user", "message": {"content": results}}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": last}]}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": last}),
    ];
    events.map(|event| format!("{event}\n")).concat()
}

/// Files of the user's, which stay as they are in the work tree, in commits and in snapshots, and the channels that they are.
const USER_FILES: &[(&str, &str)] = &[
    ("specs/001-login/tasks.md", "task"),
    ("specs/001-login/spec.md", "specification"),
    ("specs/001-login/progress.txt", "agent's own progress.txt"),
    (".specify/ralph.toml", "settings"),
    ("code.txt", "code"),
];

/// Channels that are names of files: snapshots and commits name the files that they hold.
const FILE_NAMES: &[&str] = &["file name", "name of a large file"];

/// A project with secrets in every place where they can stand, and an agent and a validation that print more of them.
fn scene(planted: &mut Planted) -> Sandbox {
    let scene = Sandbox::new();
    let put = |name: &str, text: &str| fs::write(scene.outside(name), text).unwrap();
    let (phase, task) = (planted.word("task"), planted.line("task"));
    scene.tasks(&format!("## Phase 1: {phase}\n\n- [ ] T001 Log in with {task}\n- [ ] T002 Two"));
    scene.write("specs/001-login/spec.md", format!("# Login\n\n{}\n", planted.line("specification")));
    scene.config("commit = 'task'\nsnapshot-max-file = '64KiB'").agent_uses_git();
    put("stream", &stream(planted));
    put("stderr", &planted.secrets("agent's stderr", Carries::Text).join("\n"));
    put("hint", &planted.secrets("hint", Carries::Text).join("\n"));
    put("noted", &format!("{}\n", planted.secrets("agent's own progress.txt", Carries::Text).join("\n")));
    put("code", &planted.secrets("code", Carries::Text).join("\n"));
    put("stdout", &planted.secrets("validation's stdout", Carries::Text).join("\n"));
    put("complaint", &planted.secrets("validation's stderr", Carries::Text).join("\n"));
    put("check.sh", "cat ../stdout; cat ../complaint >&2; test -e ../second || ! touch ../second\n");
    let (named, large) = (planted.word("file name"), planted.word("name of a large file"));
    put(
        "agent.sh",
        &format!(
            "cat ../stream; cat ../stderr >&2; env | grep DEPLOY_ >&2\n\
             test -e ../second && exec tick first\n\
             cat ../noted >> \"$RALPH_PROGRESS\"; cat ../code > code.txt; echo x > file-{named}.txt\n\
             head -c 100000 /dev/zero > large-{large}.bin\n\
             tick first\n"
        ),
    );
    let checked = planted.line("settings");
    scene.agent("[agents.fake]\ncommand = [\"sh\", \"../agent.sh\"]\nparser = \"claude\"\n");
    scene.validate(&format!("sh ../check.sh # {checked}"));
    scene.commit("Ready");
    scene.git(["checkout", "--quiet", "-b", &format!("work/{}", planted.word("branch"))]);
    scene
}

#[test]
fn no_kind_of_secret_leaves_through_any_channel() {
    let mut planted = Planted::default();
    let scene = scene(&mut planted);
    scene.with_remote();
    let address = format!("http://app:{}@127.0.0.1:1/x", planted.word("address of a remote"));
    scene.git(["config", "remote.away.url", &address]);
    let environment = planted.secrets("environment", Carries::Line);

    let mut printed: Vec<(String, Run)> = Vec::new();
    let hint = fs::read_to_string(scene.outside("hint")).unwrap();
    // What a person types is shown to that person as it is.
    scene.ralph(["hint", "--task", "T001", &hint]).code(0);
    let mut call = |words: &str| {
        let mut call = scene.call(words);
        for (number, value) in environment.iter().enumerate() {
            call = call.env(&format!("DEPLOY_{number}"), value);
        }
        printed.push((words.to_owned(), call.run()));
    };
    call("run --dry-run");
    call("run --dry-run --json");
    call("-n 2 --verbose");
    call("-n 1 --json");
    let [first, second] = &scene.sessions()[..] else { panic!("there are two sessions") };
    for words in [
        "log",
        "log --json",
        "log --sessions --json",
        "log --grep GET",
        "show ID:1",
        "show ID:1 --json",
        "show ID:2",
        "show ID:2 --prompt",
        "show ID:1 --agent",
        "status",
        "status --json",
        "stats --json",
        "history",
        "history --json",
        "progress",
        "replay --session ID",
        "replay --session ID --json",
        "report --session ID --output ../page.html",
        "report --session ID --markdown",
        "report --session ID --json",
        "rebuild --check",
        "fsck",
        "config",
        "config --json",
        "doctor",
        "doctor --remote away",
        "sync",
        "sync away",
        "-n 1",
    ] {
        call(&words.replace("ID", first.id()));
    }
    let mut leaks = BTreeSet::new();
    for (words, run) in &printed {
        leaks.extend(planted.found(&format!("`{words}`"), &[&run.stdout[..], &run.stderr].concat(), &[]));
    }
    assert_eq!(first.trailers("Ralph-Outcome"), ["failure", "success"], "{}", printed[2].1);
    assert_eq!(second.trailers("Ralph-Outcome"), ["success"], "{}", printed[3].1);
    assert!(!first.iteration(2)["hints"].as_array().unwrap().is_empty(), "the hint came through");

    leaks.extend(planted.found("the page", &fs::read(scene.outside("page.html")).unwrap(), &[]));
    let own = &["agent's own progress.txt"];
    leaks.extend(planted.found("progress.txt", scene.progress().as_bytes(), own));
    // The exact settings of a session are for the user alone, and go nowhere.
    let settings = scene.path(".git/ralph/settings");
    for file in files(&settings) {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    for file in files(&scene.path(".git/ralph")).into_iter().filter(|file| !file.starts_with(&settings)) {
        leaks.extend(planted.found(&file.display().to_string(), &fs::read(&file).unwrap(), &[]));
    }
    leaks.extend(in_objects(&planted, &scene, scene.repo(), "the repository"));
    let tree = scene.git("ls-tree -r --name-only HEAD");
    assert!(tree.contains("code.txt") && tree.contains("file-ghp_"), "the work is committed: {tree}");
    let said = first.text(1, "agent/stdout").matches("[redacted:").count();
    assert!(said > 5 * KINDS.len(), "the agent was heard: {said}");
    leaks.extend(in_objects(&planted, &scene, &scene.outside("remote.git"), "the remote"));
    let clone = scene.outside("clone");
    scene.git(["init", "--quiet", clone.to_str().unwrap()]);
    scene.call("sync --fetch-only ../remote.git").dir(&clone).run().code(0);
    leaks.extend(in_objects(&planted, &scene, &clone, "a clone that fetched"));
    assert!(leaks.is_empty(), "{} leaks: {leaks:#?}", leaks.len());
}

/// What is found in the objects of a repository, and in the names of its refs of ours.
fn in_objects(planted: &Planted, scene: &Sandbox, repo: &Path, place: &str) -> BTreeSet<String> {
    let refs = "for-each-ref refs/ralph refs/ralph-snap refs/ralph-meta refs/notes";
    let mut leaks = planted.found(&format!("refs of {place}"), scene.git_in(repo, refs).as_bytes(), &[]);
    // Objects that hold the user's own files, as commits and snapshots have them.
    let theirs = scene.git_in(repo, "rev-list --objects --glob=refs/heads --glob=refs/ralph-snap");
    let theirs: HashMap<&str, &str> = theirs.lines().filter_map(|line| line.split_once(' ')).collect();
    let roots = scene.git_in(repo, "log --format=%T --glob=refs/heads --glob=refs/ralph-snap");
    let roots: HashSet<&str> = roots.lines().collect();
    let all = scene.git_bytes_in(repo, "cat-file --batch --batch-all-objects");
    let mut rest = &all[..];
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let head: Vec<&str> = std::str::from_utf8(&rest[..end]).unwrap().split(' ').collect();
        let [id, kind, length] = head[..] else { panic!("{head:?}") };
        let object = &rest[end + 1..][..length.parse().unwrap()];
        rest = &rest[end + 1 + object.len() + 1..];
        let file = theirs.get(id);
        let channel = USER_FILES.iter().find(|(path, _)| file == Some(path)).map(|(_, channel)| *channel);
        let names: &[&str] = if roots.contains(id) { FILE_NAMES } else { &[] };
        let allowed = [names, channel.as_slice()].concat();
        let path = file.copied().unwrap_or_default();
        leaks.extend(planted.found(&format!("{place}, {kind} {path} {}", &id[..7]), object, &allowed));
    }
    leaks
}
