//! Sizes: memory stays small whatever comes, and what is big comes back to the byte.
//!
//! `RALPH_BIG=1 cargo test size` takes the sizes that take minutes.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]
#![expect(clippy::disallowed_methods, reason = "how big it may be is for the caller of the tests to say")]

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Instant;

use crate::sandbox::{Call, Sandbox};

/// Most memory that the loop or a reading command may ever take, in KiB.
const BOUND: u64 = 64 << 10;

/// Returns true if there is time for the big sizes.
fn is_big() -> bool {
    std::env::var_os("RALPH_BIG").is_some()
}

/// Runs a call to its end and gives its exit code, what it printed (hashed by its length and a sum), and the most
/// memory it took in KiB.
struct Weighed {
    code: i32,
    length: u64,
    sum: u64,
    memory: u64,
}

/// The memory of a process is looked at while it runs; its high-water mark only grows, so the last look counts.
fn weigh(call: &Call<'_>) -> Weighed {
    let mut child =
        call.command().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let pid = child.id();
    let reader = std::thread::spawn(move || {
        let (mut length, mut sum, mut buffer) = (0, 0, vec![0; 1 << 20]);
        loop {
            match stdout.read(&mut buffer).unwrap() {
                0 => return (length, sum),
                read => {
                    length += read as u64;
                    sum = buffer[..read].iter().copied().fold(sum, add);
                }
            }
        }
    });
    let mut memory = 0;
    let status = loop {
        memory = high_water(pid).unwrap_or(0).max(memory);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    let (length, sum) = reader.join().unwrap();
    Weighed { code: status.code().unwrap_or(-1), length, sum, memory }
}

fn add(sum: u64, byte: u8) -> u64 {
    sum.wrapping_mul(31).wrapping_add(u64::from(byte))
}

/// `VmHWM` of a process, in KiB.
fn high_water(pid: u32) -> Option<u64> {
    let status = std::fs::File::open(format!("/proc/{pid}/status")).ok()?;
    let line =
        BufReader::new(status).lines().map_while(Result::ok).find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn a_big_output_takes_little_memory_and_comes_back_to_the_byte() {
    // Also the half of it is more than the bound.
    let megabytes: u64 = if is_big() { 1000 } else { 140 };
    let scene = Sandbox::new();
    // Two sorts of text: lines, and one line without an end.
    scene.agent_sh(&format!(
        "yes 'a line of an agent that talks and talks and talks, number 12345' | head -c {megabytes}000000\n\
         tick all\n"
    ));
    scene.validate(&format!("head -c {}000000 /dev/zero | tr '\\0' x; exit 0", megabytes / 2));
    let run = weigh(&scene.call("-n 1"));
    assert_eq!(run.code, 0);
    assert!(run.memory < BOUND, "the loop took {} KiB", run.memory);

    let shown = weigh(&scene.call("show 1 --stdout"));
    let expected = std::iter::repeat_n(b'x', usize::try_from(megabytes * 500_000).unwrap());
    assert_eq!((shown.code, shown.length), (0, megabytes * 500_000));
    assert_eq!(shown.sum, expected.fold(0, add));
    assert!(shown.memory < BOUND, "show took {} KiB", shown.memory);

    let text = b"a line of an agent that talks and talks and talks, number 12345\n";
    let shown = weigh(&scene.call("show 1 --agent"));
    let expected = text.iter().copied().cycle().take(usize::try_from(megabytes * 1_000_000).unwrap());
    assert_eq!((shown.code, shown.length), (0, megabytes * 1_000_000));
    assert_eq!(shown.sum, expected.fold(0, add));
    assert!(shown.memory < BOUND, "show took {} KiB", shown.memory);

    // Taking the session up again reads the ends of outputs and no more.
    scene.tasks("- [x] T001 One\n- [ ] T002 Two").agent_sh("tick all");
    scene.validate("test $RALPH_ITERATION = 3");
    assert_eq!(scene.ralph("-n 1").code, 4);
    let resumed = weigh(&scene.call("resume"));
    assert!(resumed.memory < BOUND, "resume took {} KiB", resumed.memory);
    assert_eq!(weigh(&scene.call("rebuild --check")).code, 0);
}

#[test]
fn an_output_past_the_limit_is_kept_up_to_it() {
    let scene = Sandbox::new();
    scene.agent_sh("yes").config("max-output = \"3MB\"");
    let run = weigh(&scene.call("-n 1"));
    assert!(run.code == 4 && run.memory < BOUND, "{} {}", run.code, run.memory);
    let record = scene.session().iteration(1);
    assert_eq!(record["exit_reason"], "output_limit");
}

#[test]
fn a_list_of_a_thousand_tasks() {
    let scene = Sandbox::new();
    let tasks: Vec<String> =
        (1..=1000).map(|n| format!("- [ ] T{n:04} Part {n} of the work, depends on T{:04}", n - 1)).collect();
    scene.tasks(&tasks.join("\n").replace(", depends on T0000", ""));
    scene.agent_sh("tick");
    let count = if is_big() { 1000 } else { 20 };
    let run = weigh(&scene.call(&format!("-n {count}")));
    assert_eq!(run.code, if count < 1000 { 4 } else { 0 });
    assert!(run.memory < BOUND, "the loop took {} KiB", run.memory);
    assert_eq!(scene.session().trailers("Ralph-Outcome").len(), count);
    let status = scene.ralph("status --json").json();
    assert_eq!(status["tasks"]["done"], count);
}

#[test]
fn a_repository_of_many_files() {
    let files = if is_big() { 80_000 } else { 5_000 };
    let scene = Sandbox::new();
    let made = scene
        .hermetic("sh")
        .args(["-ec", "mkdir -p f; cd f; for d in $(seq 0 99); do mkdir $d; done; seq 1 $FILES | awk '{ f = ($1 % 100) \"/\" $1; print $1 > f; close(f) }'; git add -A; git commit -qm many"])
        .env("FILES", files.to_string())
        .status()
        .unwrap();
    assert!(made.success());
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_sh("echo $RALPH_TASK | tee f/1/1 f/2/2 f/3/3 > f/1/new; tick");
    let began = Instant::now();
    let run = weigh(&scene.call(""));
    eprintln!("{files} files: two iterations in {:?}, {} KiB", began.elapsed(), run.memory);
    assert_eq!(run.code, 0);
    assert!(run.memory < BOUND, "the loop took {} KiB", run.memory);
    let snapshot = scene.session().iteration(2)["snapshot"].as_str().unwrap().to_owned();
    let names = scene.git(["ls-tree", "-r", "--name-only", &snapshot, "f"]);
    assert_eq!(names.lines().count(), files + 1);
}

#[test]
fn many_sessions_are_listed() {
    let sessions = if is_big() { 10_000 } else { 500 };
    let scene = Sandbox::new();
    scene.agent_sh("tick all");
    scene.ralph("").code(0);
    // The same history again and again, each under an id of its own.
    let original = scene.session().id().to_owned();
    let log = scene.git(["log", "--reverse", "--format=%T", scene.session().refname()]);
    let trees: Vec<&str> = log.lines().collect();
    let messages: Vec<String> = scene
        .git(["rev-list", "--reverse", scene.session().refname()])
        .lines()
        .map(|commit| scene.git(["log", "-1", "--format=%B", commit]))
        .collect();
    let mut stream = String::new();
    for number in 1..sessions {
        let id = format!("19700101-000000-{number:08x}");
        for (place, (tree, message)) in trees.iter().zip(&messages).enumerate() {
            let message = format!("{}\n", message.replace(&original, &id));
            let from = if place == 0 { String::new() } else { format!("from {}\n", mark(number, place - 1)) };
            stream.push_str(&format!(
                "commit refs/ralph/001-login/{id}\nmark {}\ncommitter x <x@y> {} +0000\ndata {}\n{message}{from}M 040000 {tree} \n\n",
                mark(number, place),
                number,
                message.len(),
            ));
        }
    }
    let mut import =
        scene.hermetic("git").args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut import.stdin.take().unwrap(), stream.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    scene.git("pack-refs --all");

    let began = Instant::now();
    let run = weigh(&scene.call("log --sessions"));
    eprintln!("{sessions} sessions listed in {:?}, {} KiB", began.elapsed(), run.memory);
    assert!(run.code == 0 && run.memory < BOUND, "{} {}", run.code, run.memory);
    let listed = scene.ralph("log --sessions --json").json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), sessions);
    assert_eq!(scene.ralph("log --json").json()["iterations"].as_array().unwrap().len(), sessions);
    let latest = scene.ralph("status --json").json();
    assert_eq!(latest["session"]["id"], original.as_str());
    scene.skip_final_fsck();
}

fn mark(number: usize, place: usize) -> String {
    format!(":{}", number * 10 + place)
}
