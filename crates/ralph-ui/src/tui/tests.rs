//! From records and keys to pictures, which are kept beside this file in `snapshots/`.
//!
//! `INSTA_UPDATE=always cargo test -p specify-ralph-ui tui` writes them anew; git shows what changed.

use std::fmt::Write as _;

use anyhow::anyhow;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::app::{App, Effect, Mode, Opened, OwnLoop, Program};
use super::contents::{Subject, View, is_match};
use super::draw::draw;
use super::keys::{KEY_HELP, act};
use super::layout::Panel;
use super::model::{Backend, Request};
use super::samples::{
    LIST, START, Sample, at_work, commit, ended, entries, feature, flagged, group_at_work, group_morning,
    group_that_ended, lane_id, morning, session_id,
};
use crate::style::{Paint, columns};
use ralph_core::record::{AttemptId, StopReason, TestCounts, Timestamp, ValidationNow};

/// The sizes that every layout is looked at in.
const SIZES: [(u16, u16); 4] = [(120, 36), (80, 24), (200, 50), (56, 24)];

/// A screen with its backend, in which all that is asked for is read at once.
struct Scene {
    app: App,
    backend: Sample,
    effects: Vec<Effect>,
}

impl Scene {
    fn new(backend: Sample, size: (u16, u16)) -> Self {
        Self::beside(backend, size, OwnLoop::None)
    }

    fn beside(backend: Sample, (width, height): (u16, u16), own_loop: OwnLoop) -> Self {
        let now = Timestamp::from_seconds(START + 93_792);
        let app = App::new(Rect::new(0, 0, width, height), now, own_loop);
        let mut scene = Self { app, backend, effects: Vec::new() };
        scene.look();
        scene
    }

    fn look(&mut self) {
        self.app.looked(self.backend.look().unwrap().unwrap());
        self.settle();
    }

    fn settle(&mut self) {
        for _ in 0..500 {
            let Some(request) = self.app.requests().into_iter().next() else { return };
            let answer = self.backend.read(&request);
            self.app.answered(request, answer);
        }
        panic!("it asks for ever: {:?}", self.app.requests());
    }

    /// Types keys: letters as they are, and names in angle brackets.
    fn keys(&mut self, keys: &str) -> &mut Self {
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let name = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(name, _)| name);
            let (code, length) = match name {
                Some(name) => (named(name), name.len() + 2),
                None => ((KeyCode::Char(first), KeyModifiers::NONE), first.len_utf8()),
            };
            rest = &rest[length..];
            self.event(&Event::Key(KeyEvent::new(code.0, code.1)));
        }
        self
    }

    fn event(&mut self, event: &Event) {
        self.effects.extend(self.app.event(event));
        self.settle();
    }

    fn buffer(&self, paint: Paint) -> Buffer {
        let Rect { width, height, .. } = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &self.app, paint)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn picture(&self) -> String {
        let buffer = self.buffer(Paint::Plain);
        let mut picture = String::new();
        for y in 0..buffer.area.height {
            let mut line = String::new();
            let mut x = 0;
            while x < buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(columns(symbol).max(1)).unwrap();
            }
            picture.push_str(line.trim_end());
            picture.push('\n');
        }
        picture
    }

    #[track_caller]
    fn shows(&self, text: &str) -> &Self {
        let picture = self.picture();
        assert!(picture.contains(text), "{text}\n{picture}");
        self
    }
}

fn named(name: &str) -> (KeyCode, KeyModifiers) {
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "Back" => KeyCode::Backspace,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Down" => KeyCode::Down,
        "Up" => KeyCode::Up,
        "PgDn" => KeyCode::PageDown,
        "Space" => KeyCode::Char(' '),
        other => {
            let letter = other.strip_prefix("C-").and_then(|rest| rest.chars().next());
            return (KeyCode::Char(letter.unwrap_or_else(|| panic!("<{other}>"))), KeyModifiers::CONTROL);
        }
    };
    (code, KeyModifiers::NONE)
}

/// Pictures of the same in these sizes.
fn pictures(backend: impl Fn() -> Sample, keys: &str, sizes: &[(u16, u16)]) -> String {
    let mut pictures = String::new();
    for size in sizes {
        let mut scene = Scene::new(backend(), *size);
        scene.keys(keys);
        writeln!(pictures, "--- {} x {}\n{}", size.0, size.1, scene.picture()).unwrap();
    }
    pictures
}

#[test]
fn what_is_seen_first_in_every_layout() {
    assert_snapshot!("morning", pictures(morning, "", &SIZES));
    assert_snapshot!("running", pictures(at_work, "", &SIZES));
    let empty = || Sample::of(Vec::new());
    assert_snapshot!("empty", pictures(empty, "", &[(80, 24), (56, 12)]));
    assert_snapshot!("small", pictures(morning, "", &[(50, 16), (80, 10), (30, 3), (6, 8), (100, 12)]));
}

#[test]
fn views_of_a_task_and_of_its_attempts() {
    let every = &SIZES[..];
    for (name, keys) in [
        ("given_up", "<Down>"),
        ("diff", "d"),
        ("output", "<Down>o"),
        ("prompt", "p"),
        ("memory", "m"),
        ("attempt", "[<Enter>"),
        ("night", "3"),
        ("help", "?"),
    ] {
        assert_snapshot!(name, pictures(morning, keys, every));
    }
    let done = || ended(entries(1, "specs/004-boards", "T001+ T002-a T002+"), StopReason::Completed);
    let list = "- [x] T001 One\n- [x] T002 Two\n";
    let good = || Sample::of(vec![feature("specs/004-boards", &[done()], list)]);
    assert_snapshot!("review", pictures(good, "", &[(120, 40), (80, 24), (56, 20)]));
    assert_snapshot!("log", pictures(flagged, "L<Down><Space>", &[(120, 40), (80, 24), (200, 50), (56, 20)]));
    assert_snapshot!("tasks", pictures(morning, "2<Down><Enter><Down>", &[(120, 30), (80, 24), (56, 24)]));
    assert_snapshot!("detail_opened", pictures(morning, "<Enter>", &[(80, 24), (56, 24)]));
}

#[test]
fn what_is_flagged_has_a_panel_of_its_own() {
    let sizes = [(120, 40), (80, 24), (56, 20), (200, 50), (80, 18)];
    assert_snapshot!("look", pictures(flagged, "2", &sizes));
    let mut scene = Scene::new(flagged(), (120, 36));
    assert_eq!(scene.app.panel, Panel::Needs, "what needs somebody is first");
    scene.keys("2").shows("x right so");
    assert_eq!((scene.app.panel, &scene.app.subject), (Panel::Look, &Subject::Task("T005".to_owned())));
    scene.keys("jxy");
    assert_eq!(scene.effects, [run(&["accept", "T006", "--feature", "specs/004-boards"], None)]);
    assert_eq!(scene.keys("d").app.view, View::Diff);
    scene.keys("<Esc><Enter>").shows("changed jest.config.js, which decides what runs");
    assert_eq!(scene.app.panel, Panel::Detail);
    assert_eq!(scene.keys("3").app.panel, Panel::Tasks);
    assert_eq!(scene.keys("4").app.panel, Panel::Session);
    // Once all is settled, the panel is gone, and so is its number.
    scene.keys("2").backend = morning();
    scene.look();
    assert_eq!(scene.app.panel, Panel::Needs);
    assert!(!scene.picture().contains("Look"), "{}", scene.picture());
    assert_eq!(scene.keys("2").app.panel, Panel::Tasks);
    // Where only flags are left, they come first.
    let done = ended(entries(1, "specs/004-boards", "T001+"), StopReason::Completed);
    let mut good = Sample::of(vec![feature("specs/004-boards", &[done], "- [x] T001 One\n")]);
    let flags = flagged().overview.features[0].summary.flagged.clone();
    std::sync::Arc::make_mut(&mut good.overview.features[0]).summary.flagged = flags;
    assert_eq!(Scene::new(good, (80, 24)).app.panel, Panel::Look);
}

fn saying(text: &str) -> Sample {
    morning().with("validation/stdout", text).with("prompt.md", text)
}

#[test]
fn awkward_text_is_shown_and_never_obeyed() {
    for (name, text) in [
        (
            "wide",
            "你好，世界 ｗｉｄｅ 👩‍👩‍👧 テスト\n漢字かな混じりの文は二つの列を取る。とても長い行なので、画面の端で切られる。まだ続く。\n",
        ),
        ("right_to_left", "שלום עולם\nالسلام عليكم ورحمة الله\nmixed שלום with latin\n"),
        (
            "escapes",
            "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[H\nprogress 10%\rprogress 20%\r\nbell \x07 back\x08space \u{9b}1m \u{202e}live\u{202c}\n",
        ),
    ] {
        assert_snapshot!(name, pictures(|| saying(text), "<Down>o", &[(100, 20)]));
    }
    let list = LIST.replace("Export boards as CSV", "\x1b[31mred\x1b[0m \u{202e}txt 你好");
    let session = || ended(entries(1, "specs/004-boards", "T001+ T034?"), StopReason::Stuck);
    let hostile = || Sample::of(vec![feature("specs/004-boards", &[session()], &list)]);
    assert_snapshot!("escapes_in_tasks", pictures(hostile, "", &[(100, 20), (56, 20)]));
}

#[test]
fn ten_thousand_attempts_are_a_screen_like_any_other() {
    let words: Vec<String> = (1..=10_000)
        .map(|number| format!("T{number:05}{}", if number % 7 == 0 { "-a" } else { "+" }))
        .collect();
    let session = ended(entries(1, "specs/004-boards", &words.join(" ")), StopReason::LimitReached);
    let mut scene = Scene::new(Sample::of(vec![feature("specs/004-boards", &[session], LIST)]), (120, 36));
    scene.shows("10,000 attempts, 1,428 failed");
    scene.keys("3<Up>").shows("#10000 T10000");
}

#[test]
fn an_old_attempt_of_the_log_is_read_when_it_is_unfolded() {
    let words: Vec<String> = (1..=100).map(|number| format!("T{number:03}+")).collect();
    let session = ended(entries(1, "specs/004-boards", &words.join(" ")), StopReason::LimitReached);
    let mut scene = Scene::new(Sample::of(vec![feature("specs/004-boards", &[session], LIST)]), (120, 36));
    scene.keys("LG").shows("   1 ✔ T001");
    scene.keys("<Space>").shows("src/live/merge.ts");
}

#[test]
fn of_a_long_output_the_end_is_shown_and_the_pager_has_it_all() {
    let mut sample = morning();
    sample.left_out = 100_000_000;
    let mut scene = Scene::new(sample, (100, 24));
    scene.keys("<Down>o").shows("… 100.0 MB before this: v opens all of it");
    scene.keys("v");
    assert!(matches!(&scene.effects[..], [Effect::Open(Program::Pager, Opened::File(_))]));
}

/// Keys, and what is chosen then.
#[test]
fn keys_lead_to_states() {
    let task = |name: &str| Subject::Task(name.to_owned());
    let attempt = |number| Subject::Attempt(AttemptId { session: session_id(1), number });
    for (keys, panel, view, subject) in [
        ("", Panel::Needs, View::Detail, task("T034")),
        ("<Down>", Panel::Needs, View::Detail, task("T019")),
        ("jjjk", Panel::Needs, View::Detail, task("T034")),
        ("<Enter>", Panel::Detail, View::Detail, task("T034")),
        ("<Enter><Esc>", Panel::Needs, View::Detail, task("T034")),
        ("2", Panel::Tasks, View::Detail, Subject::Session),
        // Phases are open as far as there is room: the first has none.
        ("2jjj", Panel::Tasks, View::Detail, task("T005")),
        // Enter opens a phase, and the next leads into it; it never folds.
        ("2<Enter><Enter>", Panel::Tasks, View::Detail, task("T001")),
        ("2<Space><Enter>", Panel::Tasks, View::Detail, task("T001")),
        ("2G", Panel::Tasks, View::Detail, task("T035")),
        ("3", Panel::Session, View::Detail, Subject::Session),
        ("3<Up>", Panel::Session, View::Detail, attempt(20)),
        ("3<Left><Left>", Panel::Session, View::Detail, attempt(19)),
        ("3<Up><Up><Down>", Panel::Session, View::Detail, attempt(20)),
        ("3]", Panel::Session, View::Detail, attempt(4)),
        ("3]]]", Panel::Session, View::Detail, attempt(12)),
        ("3][", Panel::Session, View::Detail, attempt(4)),
        ("<Tab>", Panel::Tasks, View::Detail, Subject::Session),
        ("<Tab><Tab><Tab>", Panel::Detail, View::Detail, Subject::Session),
        ("d", Panel::Detail, View::Diff, task("T034")),
        ("dd", Panel::Detail, View::Detail, task("T034")),
        ("d<Esc>", Panel::Needs, View::Detail, task("T034")),
        ("o", Panel::Detail, View::Output, task("T034")),
        ("p", Panel::Detail, View::Prompt, task("T034")),
        ("m", Panel::Detail, View::Memory, task("T034")),
        ("L", Panel::Detail, View::Log, task("T034")),
        ("Lj<Enter>", Panel::Detail, View::Detail, attempt(19)),
        ("f<Enter>", Panel::Detail, View::Detail, attempt(20)),
        ("/t004 failed<Enter><Enter>", Panel::Detail, View::Detail, attempt(5)),
        ("/zzz<Back><Back><Back><Enter><Enter>", Panel::Detail, View::Detail, attempt(20)),
        ("S<Enter>", Panel::Needs, View::Detail, task("T034")),
        ("?q", Panel::Needs, View::Detail, task("T034")),
        ("4z<lt>", Panel::Needs, View::Detail, task("T034")),
    ] {
        let mut scene = Scene::new(morning(), (120, 36));
        scene.keys(&keys.replace("<lt>", ""));
        let app = &scene.app;
        assert_eq!((app.panel, app.view, &app.subject), (panel, view, &subject), "{keys}");
        assert!(scene.effects.is_empty(), "{keys}");
    }
}

fn run(words: &[&str], said: Option<&str>) -> Effect {
    Effect::Run(words.iter().map(|word| (*word).to_owned()).collect(), said.map(str::to_owned))
}

#[test]
fn an_agent_without_output_for_minutes_is_said_to_be_silent() {
    let mut scene = Scene::new(at_work(), (120, 36));
    let now = scene.app.now;
    scene.app.tick(Timestamp::from_ms(now.ms() + 4 * 60_000));
    assert!(!scene.picture().contains("no output for"), "an agent may think for some minutes");
    scene.app.tick(Timestamp::from_ms(now.ms() + 12 * 60_000));
    scene.shows("no output for 12 min");
    // Seen anew, with more of it.
    let mut overview = scene.app.overview.clone();
    let live = overview.live.values_mut().next().unwrap();
    live.in_flight.as_mut().unwrap().lengths[0] = Some(999_999);
    scene.app.looked(overview);
    assert!(!scene.picture().contains("no output for"));
}

#[test]
fn acts_are_commands_with_their_arguments_as_a_list() {
    let id = session_id(1);
    let id = id.as_str();
    let answered = |text| {
        run(&["hint", "--session", id, "--task", "T034", "--", text], Some("sent; T034's next prompt has it"))
    };
    let before = commit(101, 18).to_string();
    let back: Vec<&str> = vec![
        "restore",
        &before,
        "--",
        ":(top,literal)src/export/csv.ts",
        ":(top,literal)src/export/csv.test.ts",
    ];
    let twenty = format!("{id}:20");
    for (keys, expected) in [
        ("q", vec![Effect::Quit]),
        ("<C-c>", vec![Effect::Quit]),
        ("ause semicolons<Enter>", vec![answered("use semicolons")]),
        ("a-x; $(rm) 'q'<Enter>", vec![answered("-x; $(rm) 'q'")]),
        ("a<Enter>", vec![]),
        ("aq<Esc>", vec![]),
        ("aab<Back>c<Enter>", vec![answered("ac")]),
        (
            "3hgo<Enter>",
            vec![run(&["hint", "--session", id, "--", "go"], Some("sent; the next prompt has it"))],
        ),
        ("ry", vec![Effect::Start(vec!["resume".to_owned(), id.to_owned()])]),
        ("r<Esc>", vec![]),
        ("rq", vec![]),
        ("s", vec![]),
        ("Ry", vec![run(&back, None)]),
        ("R<Esc>", vec![]),
        ("3<Up>Ry", vec![run(&["restore", &twenty], None)]),
        ("<Down>xy", vec![run(&["accept", "T019", "--feature", "specs/004-boards"], None)]),
        ("<Down>x<Esc>", vec![]),
        ("O", vec![run(&["report", "--open", "--session", id], Some("the page is open in the browser"))]),
        ("e", vec![Effect::Open(Program::Editor, Opened::Own("specs/004-boards/spec.md".to_owned()))]),
        ("de", vec![Effect::Open(Program::Editor, Opened::Own("src/live/merge.ts".to_owned()))]),
    ] {
        let mut scene = Scene::new(morning(), (120, 36));
        scene.keys(keys);
        assert_eq!(scene.effects, expected, "{keys}");
        assert_eq!(scene.app.mode, Mode::Browse, "{keys}");
    }
    let mut scene = Scene::new(morning(), (120, 36));
    scene.keys("ov");
    assert!(matches!(&scene.effects[..], [Effect::Open(Program::Pager, Opened::File(_))]));
    scene.keys("<Esc>dv");
    assert!(matches!(&scene.effects[1..], [Effect::Open(Program::Pager, Opened::Diff(_))]));
    for (keys, words) in [
        ("s", "no session runs there"),
        ("3a", "choose a task that is not done"),
        ("3R", "nothing of this is left"),
        ("x", "nothing to accept"),
        ("3x", "choose a task"),
    ] {
        Scene::new(morning(), (120, 36)).keys(keys).shows(words);
    }
}

#[test]
fn a_check_is_a_row_of_its_own_kind_and_no_moment_to_go_back_to() {
    let words = "T001+ T002+ T034-a ~";
    let session = ended(entries(1, "specs/004-boards", words), StopReason::LimitReached);
    let sample = || Sample::of(vec![feature("specs/004-boards", std::slice::from_ref(&session), LIST)]);
    let mut scene = Scene::new(sample(), (120, 36));
    scene.keys("L").shows("     · check  holds in a clean checkout").shows("   3 ✘ T034");
    assert!(!scene.picture().contains(" 4 "), "{}", scene.picture());
    // The newest moment is the attempt before it.
    scene.keys("<Esc>3<Up>Ry");
    let third = format!("{}:3", session_id(1).as_str());
    assert_eq!(scene.effects, [run(&["restore", &third], None)]);
    let mut scene = Scene::new(sample(), (120, 36));
    scene.keys("L<Enter>R").shows("no agent ran in this: choose an attempt before or after it");
}

#[test]
fn what_runs_is_stopped_and_given_hints_and_never_touched() {
    let id = session_id(1);
    let id = id.as_str();
    let stop = run(&["stop", "--session", id], Some("stopping after this attempt"));
    let now = run(
        &["stop", "--session", id, "--now"],
        Some("stopping the agent; this attempt is recorded as cut short"),
    );
    for (keys, expected) in [
        ("s<Esc>", vec![]),
        ("sl", vec![]),
        ("ss", vec![stop.clone()]),
        ("sn", vec![now.clone()]),
        (
            "hgo on<Enter>",
            vec![run(
                &["hint", "--session", id, "--task", "T019", "--", "go on"],
                Some("sent; T019's next prompt has it"),
            )],
        ),
        ("q", vec![Effect::Quit]),
    ] {
        let mut scene = Scene::new(at_work(), (120, 36));
        scene.keys(keys);
        assert_eq!(scene.effects, expected, "{keys}");
    }
    Scene::new(at_work(), (120, 36)).keys("r").shows("it runs already");
    Scene::new(at_work(), (120, 36)).keys("R").shows("stop the session first");
    Scene::new(at_work(), (120, 36)).keys("x").shows("stop the session first");
    // The loop that was started with the screen is never left or stopped without asking.
    for (keys, expected) in [
        ("q", vec![]),
        ("q<Esc>", vec![]),
        ("qq", vec![]),
        ("q<Enter>", vec![]),
        ("<C-c><C-c>", vec![]),
        ("ql", vec![Effect::Quit]),
        ("qs", vec![stop]),
        ("qn", vec![now]),
    ] {
        let own = OwnLoop::Runs { pid: 4711, is_beside: true };
        let mut scene = Scene::beside(at_work(), (80, 24), own);
        scene.keys(keys);
        assert_eq!(scene.effects, expected, "{keys}");
    }
    let mut scene = Scene::beside(at_work(), (80, 24), OwnLoop::Ended { code: 1, is_beside: true });
    scene.keys("q");
    assert_eq!(scene.effects, [Effect::Quit], "nothing is left to be asked");
}

#[test]
fn several_loops_on_a_branch_are_one_session() {
    let sizes = [(120, 36), (80, 24)];
    let all = [("group_running", group_at_work as fn() -> Sample), ("group_morning", group_morning)];
    for (name, sample) in all {
        let shown = pictures(sample, "", &sizes) + &pictures(sample, "L", &sizes);
        assert_snapshot!(name, shown + &pictures(sample, "S", &sizes[..1]));
    }
    let mut scene = Scene::new(group_morning(), (120, 36));
    scene.keys("L/4:2<Enter><Enter>").shows("─ 4:2 ").shows("merged T002; T017 sent back");
    // That one loop completed is not what the start came to, whichever was the last.
    for completed in 0..5 {
        let mut ends = [StopReason::LimitReached; 5];
        ends[completed] = StopReason::Completed;
        let ends = [ends[0], ends[1], ends[2], ends[3]];
        let scene = Scene::new(group_that_ended(ends), (120, 36));
        assert!(!scene.shows("stopped at a limit").app.is_completed(), "{completed}");
    }
    assert!(Scene::new(group_that_ended([StopReason::Completed; 4]), (120, 36)).app.is_completed());
    let mut sample = group_morning();
    std::sync::Arc::make_mut(&mut sample.overview.features[0]).summary.validation =
        Some(Box::new(ValidationNow {
            passes: true,
            is_now: Some(false),
            session: lane_id(2),
            iteration: Some(3),
            is_resumption: false,
            tests: TestCounts::default(),
            passed_at_start: None,
            cause: None,
            command: None,
            names: None,
        }));
    Scene::new(sample, (120, 36)).keys("3").shows("passed as of 2:3, files changed since");
    // Of one loop, a lane is no part of a name.
    assert!(!pictures(morning, "L", &sizes).contains("lane"));
}

#[test]
fn keys_act_on_the_loop_that_is_chosen_and_on_the_group_where_that_is_meant() {
    let running = |lane| Subject::Running(lane_id(lane));
    for (keys, subject) in
        [("", running(1)), ("j", running(2)), ("jj<Up>", running(2)), ("jjjjj", running(4))]
    {
        let mut scene = Scene::new(group_at_work(), (120, 36));
        scene.keys(keys);
        assert_eq!((scene.app.panel, &scene.app.subject, scene.app.follows), (Panel::Now, &subject, true));
    }
    let [first, second] = [lane_id(1).to_string(), lane_id(2).to_string()];
    let hint = |task| {
        run(
            &["hint", "--session", &first, "--task", task, "--", "go"],
            Some(&format!("sent; {task}'s next prompt has it")),
        )
    };
    let stop = run(&["stop", "--session", &first], Some("stopping after these attempts"));
    let now = Some("stopping the agents; their attempts are recorded as cut short");
    let now = run(&["stop", "--session", &first, "--now"], now);
    for (keys, expected) in [
        ("hgo<Enter>", hint("T019")),
        ("jhgo<Enter>", hint("T021")),
        ("jss", stop.clone()),
        ("sn", now),
        ("O", run(&["report", "--open", "--session", &first], Some("the page is open in the browser"))),
    ] {
        let mut scene = Scene::new(group_at_work(), (120, 36));
        scene.keys(keys);
        assert_eq!(scene.effects, [expected], "{keys}");
    }
    // The first has ended, the others go on.
    let mut sample = group_at_work();
    sample.overview.live.remove(&lane_id(1));
    let mut scene = Scene::new(sample, (120, 36));
    scene.shows("3 at once");
    scene.keys("ss");
    assert_eq!(scene.effects, [run(&["stop", "--session", &second], Some("stopping after these attempts"))]);
    // Started with the screen, it is the parent of all of them.
    let mut scene = Scene::beside(group_at_work(), (120, 36), OwnLoop::Runs { pid: 4000, is_beside: true });
    assert!(scene.app.has_begun);
    assert_eq!(scene.keys("qs").effects, [stop]);
    let third = format!("{}:2", lane_id(2));
    for (keys, expected) in [
        ("L/2:2<Enter><Enter>Ry", run(&["restore", &third], None)),
        ("ry", Effect::Start(vec!["resume".to_owned(), first.clone()])),
    ] {
        let mut scene = Scene::new(group_morning(), (120, 36));
        scene.keys(keys);
        assert_eq!(scene.effects, [expected], "{keys}");
    }
}

#[test]
fn what_runs_is_followed_until_somebody_looks_elsewhere_and_its_end_leads_to_what_needs_you() {
    let mut scene = Scene::new(at_work(), (120, 36));
    assert_eq!((&scene.app.subject, scene.app.follows), (&Subject::Running(session_id(1)), true));
    scene.backend = morning();
    scene.look();
    assert_eq!((scene.app.panel, &scene.app.subject), (Panel::Needs, &Subject::Task("T034".to_owned())));
    scene.shows("the session has ended: 2 need you").shows("⏎ open");
    // Who reads something else sees a note, and is not led away.
    let mut scene = Scene::new(at_work(), (120, 36));
    scene.keys("3jjj<Enter>");
    let subject = scene.app.subject.clone();
    scene.backend = morning();
    scene.look();
    assert_eq!((&scene.app.subject, scene.app.follows), (&subject, false));
    scene.shows("the session has ended: 2 need you");
    let done = || ended(entries(1, "specs/004-boards", "T001+"), StopReason::Completed);
    scene.backend = Sample::of(vec![feature("specs/004-boards", &[done()], "- [x] T001 One\n")]);
    scene.keys("F");
    scene.look();
    scene.shows("finished").shows("nothing needs you");
    // A session that begins is gone to.
    scene.backend = at_work();
    scene.look();
    assert_eq!(scene.app.panel, Panel::Now);
    scene.keys("<Tab><Tab><Tab><Tab>k");
    assert!(!scene.app.follows, "who scrolls up wants to read");
}

#[test]
fn attempts_are_found_by_exit_code_task_outcome_and_words() {
    let sample = morning();
    let feature = &sample.overview.features[0];
    for (filter, expected) in [
        ("exit:101", "4 5 12 13 14"),
        ("exit:validation=101 t019", "12 13 14"),
        ("exit:agent=1", "10"),
        ("exit:x", ""),
        ("failed solved", "4 5"),
        ("asked", "18 20"),
        ("quota", "10"),
        ("cut short", "10"),
        ("T004 done", "6"),
        ("semicolons", "18 20"),
        ("#7", "7"),
        ("nowhere", ""),
    ] {
        let found = feature.sessions[0].iterations().filter(|one| is_match(feature, one, filter));
        let found = found.map(|one| one.number().to_string());
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{filter}");
    }
    let mut scene = Scene::new(morning(), (120, 36));
    scene.keys("/exit:101").shows("find / exit:101▏").shows("5 of 18");
    scene.keys("<Enter><Esc>").shows("─ 18 ─");
    scene.keys("/nowhere<Enter>").shows("no attempt matches `nowhere`");
}

#[test]
fn a_text_is_searched_where_it_is_read() {
    let mut scene = Scene::new(saying("one\ntwo\nONE more\nthree\n"), (100, 24));
    let at = |scene: &Scene| {
        let page = &scene.app.page;
        page.lines.get(page.cursor).map(|(_, row)| row.text())
    };
    scene.keys("p/one");
    scene.shows("/ one▏");
    assert_eq!(at(scene.keys("<Enter>")).unwrap(), "ONE more");
    assert_eq!(at(scene.keys("n")).unwrap(), "one", "behind the last comes the first");
    assert_eq!(at(scene.keys("N")).unwrap(), "ONE more");
    scene.keys("/zzz<Enter>").shows("`zzz` is not in what is shown");
    scene.keys("/<Esc>");
    assert_eq!(scene.app.search, "zzz");
}

#[test]
fn what_grows_stays_at_its_end_until_it_is_read() {
    let mut scene = Scene::new(at_work().with("agent/stdout", "one\ntwo\n"), (120, 36));
    scene.shows("two");
    let text = |count: u32| (0..count).map(|line| format!("line {line}\n")).collect::<String>();
    scene.backend = at_work().with("agent/stdout", &text(500));
    scene.look();
    scene.shows("line 499");
    // It stays while it is read, until its end is asked for.
    scene.keys("k").backend = at_work().with("agent/stdout", &text(800));
    scene.look();
    scene.shows("line 499");
    scene.keys("G").shows("line 799");
}

#[test]
fn a_new_size_keeps_what_is_chosen_on_the_screen() {
    let mut scene = Scene::new(morning(), (160, 50));
    scene.keys("<Down>");
    for size in [(80, 24), (60, 8), (40, 6), (200, 60), (1, 1), (0, 0), (80, 24)] {
        scene.event(&Event::Resize(size.0, size.1));
        drop(scene.picture());
    }
    scene.shows("Given up after 3 attempts");
}

#[test]
fn paths_that_lead_to_files_are_known_by_their_places() {
    let scene = Scene::new(morning(), (120, 36));
    let links = scene.app.links();
    let paths: Vec<&str> = links.iter().map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(paths, ["src/export/csv.ts", "src/export/csv.test.ts", "specs/004-boards/spec.md"]);
    let buffer = scene.buffer(Paint::Plain);
    for (place, path, _) in &links {
        let shown: String = (0..u16::try_from(path.len()).unwrap())
            .map(|x| buffer[(place.x + x, place.y)].symbol().to_owned())
            .collect();
        assert_eq!(shown, *path);
    }
}

#[test]
fn every_line_of_the_help_can_be_read_on_any_screen() {
    let help_texts = || KEY_HELP.into_iter().flatten().map(|(_, does)| *does);
    for size in [(160, 50), (80, 24), (70, 24), (40, 12), (40, 6)] {
        let mut scene = Scene::new(morning(), size);
        scene.keys("?");
        let mut seen = scene.picture();
        for _ in 0..60 {
            if seen.contains("more") {
                scene.keys("j");
                seen.push_str(&scene.picture());
            }
        }
        let seen = seen.replace('┃', "");
        let seen = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        for does in help_texts() {
            assert!(seen.contains(does), "{size:?} {does}: {seen}");
        }
    }
    let mut scene = Scene::new(morning(), (40, 12));
    scene.keys("?G").shows("this help, quit");
    assert_eq!(scene.keys("x").app.mode, Mode::Browse);
}

#[test]
fn every_key_that_is_told_of_does_something() {
    for (keys, does) in KEY_HELP.into_iter().flatten().filter(|(keys, _)| !keys.is_empty()) {
        for key in keys.split(' ') {
            let (code, modifiers) = match key {
                "↓" => named("Down"),
                "↑" => named("Up"),
                "→" => named("Right"),
                "←" => named("Left"),
                "⏎" => named("Enter"),
                "Esc" | "Tab" | "Space" => named(key),
                _ => match key.strip_prefix('^') {
                    Some(letter) => (KeyCode::Char(letter.chars().next().unwrap()), KeyModifiers::CONTROL),
                    None => (KeyCode::Char(key.chars().next().unwrap()), KeyModifiers::NONE),
                },
            };
            assert!(act(KeyEvent::new(code, modifiers)).is_some(), "{key}: {does}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_said_and_asked_for_once() {
    let mut scene = Scene::new(morning(), (120, 36));
    scene.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('d'), KeyModifiers::NONE)));
    let request =
        scene.app.requests().into_iter().find(|request| matches!(request, Request::Diff(_))).unwrap();
    scene.shows("reading …");
    scene.app.answered(request, Err(anyhow!("the snapshot is not here\nhint: fetch it")));
    assert!(!scene.app.requests().iter().any(|request| matches!(request, Request::Diff(_))));
    scene.shows("the snapshot is not here").shows("hint: fetch it");
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let scene = Scene::new(morning(), (120, 36));
    let colours = |paint: Paint| {
        let buffer = scene.buffer(paint);
        buffer.content().iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(colours(Paint::Plain), 0);
    assert!(colours(Paint::Colour) > 50);
    let buffer = scene.buffer(Paint::Plain);
    let is_reversed = |y: u16| buffer[(4, y)].modifier.contains(Modifier::REVERSED);
    assert_eq!((0..36).filter(|y| is_reversed(*y)).count(), 1, "what is chosen is seen without colours");
}
