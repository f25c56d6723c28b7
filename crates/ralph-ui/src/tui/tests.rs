//! From records and keys to pictures, which are kept in `fixtures/screens/`.
//!
//! `RALPH_WRITE_SCREENS=1 cargo test --lib tui` writes them anew; git shows what changed.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::anyhow;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::app::{App, Effect, Mode, Opened, OwnLoop, Program, Steer, Subcommand};
use super::contents::View;
use super::draw::{Palette, draw};
use super::layout::Pane;
use super::list::{Item, List};
use super::samples::{START, Sample, running, session, session_id};
use super::source::{DiffTarget, SessionRow, Source};
use super::terminal::read;
use crate::style::Paint;
use crate::style::columns;
use ralph_core::record::Timestamp;
use ralph_store::Stop;

const SIZES: [(u16, u16); 2] = [(80, 24), (160, 50)];

/// A screen with its source, in which all that is asked for is read at once.
struct Scene {
    app: App,
    source: Sample,
    effects: Vec<Effect>,
}

impl Scene {
    fn new(source: Sample, (width, height): (u16, u16)) -> Self {
        Self::beside(source, (width, height), OwnLoop::None)
    }

    /// At the newest iteration: what most tests are about.
    fn beside(source: Sample, size: (u16, u16), own_loop: OwnLoop) -> Self {
        let mut scene = Self::opened(source, size, own_loop);
        if matches!(scene.app.list.selected(), Some(Item::Session(_))) {
            scene.keys("j");
        }
        scene
    }

    fn opened(source: Sample, (width, height): (u16, u16), own_loop: OwnLoop) -> Self {
        let now = Timestamp::from_seconds(START + 7_083);
        let app = App::new(Rect::new(0, 0, width, height), now, own_loop);
        let mut scene = Self { app, source, effects: Vec::new() };
        scene.look();
        scene
    }

    fn look(&mut self) {
        self.app.looked(self.source.look().unwrap().unwrap());
        self.settle();
    }

    fn settle(&mut self) {
        for _ in 0..200 {
            let Some(request) = self.app.request() else { return };
            let answer = read(&self.source, &request);
            self.app.answered(&request, answer);
        }
        panic!("it asks for ever: {:?}", self.app.request());
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

    fn mouse(&mut self, kind: MouseEventKind, (column, row): (u16, u16)) -> &mut Self {
        self.event(&Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        self
    }

    fn buffer(&self, paint: Paint) -> Buffer {
        let Rect { width, height, .. } = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &self.app, Palette(paint))).unwrap();
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
    fn shows(&self, text: &str) {
        let picture = self.picture();
        assert!(picture.contains(text), "{text}\n{picture}");
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
        "lt" => KeyCode::Char('<'),
        "gt" => KeyCode::Char('>'),
        other => {
            let letter = other.strip_prefix("C-").and_then(|rest| rest.chars().next());
            return (KeyCode::Char(letter.unwrap_or_else(|| panic!("<{other}>"))), KeyModifiers::CONTROL);
        }
    };
    (code, KeyModifiers::NONE)
}

/// Compares with the pictures in `fixtures/screens/`, or writes them.
#[track_caller]
fn screen(name: &str, source: impl Fn() -> Sample, keys: &str) {
    let mut pictures = String::new();
    for size in SIZES {
        let mut scene = Scene::new(source(), size);
        scene.keys(keys);
        pictures.push_str(&format!("--- {} x {}\n{}", size.0, size.1, scene.picture()));
    }
    compare(name, &pictures);
}

#[track_caller]
fn compare(name: &str, pictures: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/screens").join(format!("{name}.txt"));
    #[expect(clippy::disallowed_methods, reason = "whoever changed the screen says so here")]
    let is_written = std::env::var_os("RALPH_WRITE_SCREENS").is_some();
    if is_written {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, pictures).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == pictures,
        "{name} looks otherwise; `RALPH_WRITE_SCREENS=1 cargo test --lib tui` writes the pictures anew\n{pictures}"
    );
}

fn failing() -> SessionRow {
    let mut row = session(2, "specs/001-login", "T001+ T002- T002- T002+ T003- T003- T003- T003!");
    for row in std::sync::Arc::make_mut(&mut row.iterations) {
        row.repeats = matches!(row.number, 3 | 6 | 7).then_some(2);
    }
    row
}

fn many() -> Sample {
    Sample::of(vec![
        session(0, "specs/000-page", "T001+ T002+"),
        session(1, "specs/001-login", "T001?"),
        failing(),
    ])
}

fn at_work() -> Sample {
    Sample::of(vec![
        session(0, "specs/000-page", "T001+ T002+"),
        running(session(2, "specs/001-login", "T001+ T002+ T003-")),
    ])
}

fn saying(text: &str) -> Sample {
    let mut sample = many().with("validation/stdout", text).with("prompt.md", text);
    sample.tasks =
        Some(format!("## {}\n\n- [ ] T003 {}\n", text.lines().next().unwrap(), text.lines().next().unwrap()));
    sample
}

#[test]
fn screens_of_every_view() {
    for (view, keys) in [
        ("output", "o"),
        ("failure", "jo"),
        ("dashboard", "<C-d>o"),
        ("describe", "]d"),
        ("diff", "D"),
        ("prompt", "P"),
        ("tasks", "t"),
        ("history", "h"),
    ] {
        screen(view, many, keys);
    }
}

#[test]
fn screens_of_few_and_many_records() {
    screen("empty", || Sample::of(Vec::new()), "");
    screen("one", || Sample::of(vec![session(0, "specs/001-login", "T001+")]), "");
    screen("begun", || Sample::of(vec![session(0, "specs/001-login", "")]), "");
    let long = || {
        let turns: Vec<String> = (1..=10_000)
            .map(|number| format!("T{number:05}{}", if number % 7 == 0 { '-' } else { '+' }))
            .collect();
        Sample::of(vec![session(0, "specs/001-login", &turns.join(" "))])
    };
    screen("ten-thousand", long, "<PgDn><PgDn>]");
}

#[test]
fn screens_of_what_runs() {
    screen("running", at_work, "");
    screen("running-tasks", at_work, "t");
    screen("running-describe", at_work, "d");
}

#[test]
fn screens_of_awkward_text() {
    screen(
        "wide",
        || {
            saying(
                "你好，世界 ｗｉｄｅ 👩‍👩‍👧 テスト\n漢字かな混じりの文は二つの列を取る。とても長い行なので、画面の端で切られる。まだ続く。\n",
            )
        },
        "o<Tab>jjjj",
    );
    screen("right-to-left", || saying("שלום עולם\nالسلام عليكم ورحمة الله\nmixed שלום with latin\n"), "");
    screen(
        "escapes",
        || {
            saying(
                "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[H\nprogress 10%\rprogress 20%\r\nbell \x07 back\x08space \u{9b}1m \u{202e}live\u{202c}\n",
            )
        },
        "",
    );
    screen("escapes-in-tasks", || saying("\x1b[31mred\x1b[0m \x1b]0;title\x07\n"), "t");
    screen("long-lines", || saying(&format!("{}\n{}\n", "x".repeat(3_000), "word ".repeat(300))), "P");
}

#[test]
fn screens_of_filters_and_dialogs() {
    screen("filter", many, "/t003 fail");
    screen("filter-nothing", many, "/nowhere<Enter>");
    screen("failed-only", many, "f");
    screen("help", many, "?");
    let mut pictures = String::new();
    for size in SIZES {
        let mut scene = Scene::beside(at_work(), size, OwnLoop::Runs { pid: 4711 });
        scene.keys("q");
        pictures.push_str(&format!("--- {} x {}\n{}", size.0, size.1, scene.picture()));
    }
    compare("leave", &pictures);
    pictures.clear();
    for size in [(50, 16), (80, 3), (30, 2), (6, 8)] {
        let mut scene = Scene::new(many(), size);
        pictures.push_str(&format!("--- {} x {}\n{}", size.0, size.1, scene.picture()));
        scene.keys("<Tab>");
        pictures.push_str(&format!("--- {} x {}, the view\n{}", size.0, size.1, scene.picture()));
    }
    compare("small", &pictures);
}

#[test]
fn a_huge_output_opens_with_a_part_of_it_and_its_end_is_a_jump_away() {
    let mut sample = many();
    sample.huge = Some(100_000_000);
    let mut scene = Scene::new(sample, (80, 24));
    scene.shows("case_00000000");
    scene.shows("… 99.9 MB more");
    // The section of the output has a line above it that is not its own.
    scene.keys("]<Tab>jjj<Enter>jjj");
    scene.shows("▾ validation, stdout");
    for _ in 0..30 {
        scene.keys("<PgDn><PgDn><PgDn><PgDn>");
    }
    scene.shows("%");
    assert!(scene.source.read.load(Ordering::Relaxed) < 8_000_000);
    scene.keys("g");
    scene.shows("case_00000000");
}

#[test]
fn a_quoted_line_leads_to_its_place_in_the_output() {
    let quoted = "assertion `left == right` failed";
    for (before, lines) in [("", 0), ("running\n", 3), ("case ... ok\n", 200_000)] {
        let text = format!("{}{quoted}\nbehind\n", before.repeat(lines));
        let mut scene = Scene::new(saying(&text), (80, 24));
        scene.keys("]<Tab>jjjjjj<Enter>");
        let app = &scene.app;
        let row = app.page.at(app.page.cursor).and_then(|at| app.page.row(at)).unwrap();
        assert_eq!(row.text(), quoted, "{lines}");
        scene.shows("behind");
    }
    let mut scene = Scene::new(saying("nothing like it\n"), (80, 24));
    scene.keys("]<Tab>jjjjjj<Enter>").shows("the quoted line is not in the output");
}

#[test]
fn the_end_of_a_huge_file_is_read_without_what_is_before_it() {
    let mut sample = many();
    sample.huge = Some(100_000_000);
    let mut scene = Scene::new(sample, (80, 24));
    for section in &mut scene.app.page.sections {
        section.fold = super::page::Fold::Open;
    }
    scene.app.page.sections.truncate(2);
    scene.keys("<Tab>G");
    scene.shows("case_01999999");
    scene.keys("k<PgDn>");
    for _ in 0..20 {
        scene.keys("<C-b><C-b>");
    }
    scene.shows("case_019");
    scene.keys("g");
    scene.shows("Iteration 8");
    scene.shows("case_00000000");
    assert!(scene.source.read.load(Ordering::Relaxed) < 12_000_000);
}

#[test]
fn a_session_that_has_ended_opens_at_its_dashboard() {
    let scene = Scene::opened(many(), (80, 24), OwnLoop::None);
    assert!(matches!(scene.app.list.selected(), Some(Item::Session(0))));
    scene.shows("2 files changed, +4 −1 lines");
    let scene = Scene::opened(at_work(), (80, 24), OwnLoop::None);
    assert!(matches!(scene.app.list.selected(), Some(Item::InFlight(0))));
}

/// Keys, and what is chosen then: pane, view, number.
#[test]
fn keys_lead_to_states() {
    for (keys, pane, view, number) in [
        ("", Pane::List, View::Output, Some(8)),
        ("j", Pane::List, View::Output, Some(7)),
        ("jjk<Down><Up>", Pane::List, View::Output, Some(7)),
        ("G", Pane::List, View::Output, None),
        ("g", Pane::List, View::Output, None),
        ("]", Pane::List, View::Output, Some(7)),
        ("]]]", Pane::List, View::Output, Some(5)),
        ("]]]]]]]]]", Pane::List, View::Output, Some(2)),
        ("]]]]]][", Pane::List, View::Output, Some(3)),
        ("nnN", Pane::List, View::Output, Some(7)),
        ("<Tab>", Pane::View, View::Output, Some(8)),
        ("<Enter>", Pane::View, View::Output, Some(8)),
        ("<Right>", Pane::View, View::Output, Some(8)),
        ("<Right><Right><Left>", Pane::View, View::Output, Some(8)),
        ("<Right><Right><Left><Left>", Pane::List, View::Output, Some(8)),
        ("<Tab>jjj<Esc>", Pane::List, View::Output, Some(8)),
        ("D", Pane::List, View::Diff, Some(8)),
        ("<gt>", Pane::List, View::Describe, Some(8)),
        ("<lt>", Pane::List, View::History, Some(8)),
        ("<lt><gt>", Pane::List, View::Output, Some(8)),
        ("f", Pane::List, View::Output, Some(7)),
        ("fF", Pane::List, View::Output, Some(7)),
        ("/T001<Enter>", Pane::List, View::Output, Some(1)),
        ("/T001<Enter><Esc>", Pane::List, View::Output, Some(1)),
        ("/T001<Esc>", Pane::List, View::Output, Some(1)),
        ("/zzz<Back><Back><Back><Enter>", Pane::List, View::Output, Some(8)),
        ("<C-d>", Pane::List, View::Output, None),
    ] {
        let mut scene = Scene::new(many(), (80, 24));
        scene.keys(keys);
        let chosen = scene.app.list.selected().and_then(|item| List::chosen(&scene.app.overview, item));
        let state = (scene.app.pane, scene.app.view, chosen.and_then(|chosen| chosen.number()));
        assert_eq!(state, (pane, view, number), "{keys}");
    }
}

#[test]
fn keys_that_somebody_else_must_obey() {
    let name = format!("{}:7", session_id(2));
    let change = DiffTarget { session: session_id(2), iteration: Some(8) };
    for (keys, expected) in [
        ("q", Effect::Quit),
        ("<C-c>", Effect::Quit),
        ("jy", Effect::Copy(name)),
        ("Y", Effect::Copy(super::samples::commit(2, 8).to_string())),
        ("De", Effect::Open(Program::Editor, Opened::Diff(change))),
        ("<C-l>", Effect::Redraw),
    ] {
        let mut scene = Scene::new(many(), (80, 24));
        scene.keys(keys);
        assert_eq!(scene.effects, [expected], "{keys}");
    }
    let mut scene = Scene::new(many(), (80, 24));
    scene.keys("v");
    assert!(matches!(&scene.effects[..], [Effect::Open(Program::Pager, Opened::File(_))]));
    scene.keys("tv");
    assert!(
        matches!(&scene.effects[1..], [Effect::Open(Program::Pager, Opened::Text(text))] if text.contains("T003"))
    );
}

#[test]
fn the_loop_beside_the_screen_is_never_stopped_without_asking() {
    for (keys, expected) in [
        ("q", vec![]),
        ("q<Esc>", vec![]),
        ("qq", vec![]),
        ("q<Enter>", vec![]),
        ("<C-c><C-c>", vec![]),
        ("ql", vec![Effect::Quit]),
        ("qs", vec![Effect::Steer(session_id(2), Steer::Stop(Stop::AfterIteration))]),
        ("qn", vec![Effect::Steer(session_id(2), Steer::Stop(Stop::Now))]),
    ] {
        let mut scene = Scene::beside(at_work(), (80, 24), OwnLoop::Runs { pid: 4711 });
        scene.keys(keys);
        assert_eq!(scene.effects, expected, "{keys}");
    }
    let mut scene = Scene::beside(at_work(), (80, 24), OwnLoop::Runs { pid: 4711 });
    scene.app.own_loop = OwnLoop::Ended { code: 1 };
    scene.shows("the loop has ended, exit 1");
    scene.keys("q");
    assert_eq!(scene.effects, [Effect::Quit], "nothing is left to be asked");
}

#[test]
fn a_session_that_runs_is_stopped_and_given_hints() {
    let id = || session_id(2);
    for (keys, expected) in [
        ("s<Esc>", vec![]),
        ("sl", vec![]),
        ("ss", vec![Effect::Steer(id(), Steer::Stop(Stop::AfterIteration))]),
        ("sn", vec![Effect::Steer(id(), Steer::Stop(Stop::Now))]),
        ("i<Enter>", vec![]),
        ("iq<Esc>", vec![]),
        ("iuse q<Back>it<Enter>", vec![Effect::Steer(id(), Steer::Hint("use it".to_owned()))]),
    ] {
        let mut scene = Scene::new(at_work(), (80, 24));
        scene.keys(keys);
        assert_eq!(scene.effects, expected, "{keys}");
    }
    for keys in ["i", "s"] {
        let mut scene = Scene::new(many(), (80, 24));
        scene.keys(keys).shows("no session runs there");
        assert!(scene.effects.is_empty() && scene.app.mode == Mode::Browse, "{keys}");
    }
}

#[test]
fn files_are_restored_after_a_question_and_a_page_is_opened_at_once() {
    let restored = || Effect::Run(Subcommand::Restore(format!("{}:3", session_id(2))));
    for (keys, expected) in [
        ("R", vec![]),
        ("R<Esc>", vec![]),
        ("Rq", vec![]),
        ("R<Enter>", vec![]),
        ("Ry", vec![restored()]),
        ("O", vec![Effect::Run(Subcommand::Report(session_id(2)))]),
    ] {
        let mut scene = Scene::new(at_work(), (80, 24));
        scene.keys(&format!("gjj{keys}"));
        assert_eq!(scene.effects, expected, "{keys}");
    }
    let mut scene = Scene::new(at_work(), (80, 24));
    scene.keys("gjjR").shows(&format!("Restore the files of {}:3?", session_id(2)));
    let mut scene = Scene::new(at_work(), (80, 24));
    scene.keys("gR").shows("choose the iteration whose files to restore");
    assert!(scene.effects.is_empty() && scene.app.mode == Mode::Browse);
}

#[test]
fn a_view_is_searched_apart_from_the_list() {
    let mut scene = Scene::new(saying("one\ntwo\nONE more\nthree\n"), (80, 24));
    let at = |scene: &Scene| {
        scene
            .app
            .page
            .at(scene.app.page.cursor)
            .and_then(|at| scene.app.page.row(at))
            .map(super::row::Row::text)
    };
    scene.keys("P<Tab>/one");
    scene.shows("/one▏");
    assert_eq!(at(scene.keys("<Enter>")).unwrap(), "ONE more");
    assert_eq!(at(scene.keys("n")).unwrap(), "one", "behind the last comes the first");
    assert_eq!(at(scene.keys("N")).unwrap(), "ONE more");
    assert_eq!((scene.app.list.filter.as_str(), scene.app.search.as_str()), ("", "one"));
    scene.keys("/zzz<Enter>").shows("`zzz` is not in what is shown");
    scene.keys("/<Esc>");
    assert_eq!(scene.app.search, "zzz");
}

#[test]
fn what_runs_is_followed_until_somebody_looks_elsewhere() {
    let number = |scene: &Scene| {
        let item = scene.app.list.selected().unwrap();
        List::chosen(&scene.app.overview, item).unwrap().number()
    };
    let next = || Sample::of(vec![running(session(2, "specs/001-login", "T001+ T002+ T003- T003-"))]);
    let mut scene = Scene::new(at_work(), (80, 24));
    assert_eq!((number(&scene), scene.app.follows), (Some(4), true));
    scene.source = next();
    scene.look();
    assert_eq!(number(&scene), Some(5));

    let mut scene = Scene::new(at_work(), (80, 24));
    scene.keys("j");
    scene.source = next();
    scene.look();
    assert_eq!((number(&scene), scene.app.follows), (Some(3), false));
    scene.keys("F");
    assert_eq!((number(&scene), scene.app.follows), (Some(5), true));
    scene.keys("<Tab>k");
    assert!(!scene.app.follows, "who scrolls up wants to read");

    let scene = Scene::new(many(), (80, 24));
    assert!(!scene.app.follows, "nothing runs");
}

#[test]
fn what_grows_stays_at_its_end() {
    let mut scene = Scene::new(at_work().with("agent/stdout", "one\ntwo\n"), (80, 24));
    scene.shows("two");
    scene.source.files.insert((4, "agent/stdout"), (0..500).map(|line| format!("line {line}\n")).collect());
    let mut overview = scene.source.overview.clone();
    let row = std::sync::Arc::make_mut(&mut overview.sessions[0]);
    row.live.as_mut().unwrap().in_flight.as_mut().unwrap().lengths[0] = Some(4_390);
    scene.app.looked(overview);
    scene.settle();
    scene.shows("line 499");
}

#[test]
fn the_mouse_chooses_scrolls_and_unfolds() {
    let left = MouseEventKind::Down(MouseButton::Left);
    let mut scene = Scene::new(many(), (80, 24));
    scene.mouse(left, (5, 5));
    scene.shows("Iteration 7, exit 101");
    scene.mouse(left, (51, 1));
    assert_eq!(scene.app.view, View::Diff);
    scene.mouse(left, (33, 3));
    assert_eq!(scene.app.pane, Pane::View);
    scene.shows("▸ src/login.rs");
    scene.mouse(left, (1, 3));
    scene.shows("▸ ✘ 001-login");
    let top = scene.app.list.selected;
    scene.mouse(MouseEventKind::ScrollDown, (5, 5));
    assert_ne!(scene.app.list.selected, top);
    let mut scene = Scene::new(saying(&"line\n".repeat(100)), (80, 24));
    scene.keys("P").mouse(MouseEventKind::ScrollDown, (50, 10));
    assert_eq!(scene.app.page.top, 3);
}

#[test]
fn a_new_size_keeps_what_is_chosen_on_the_screen() {
    let mut scene = Scene::new(many(), (160, 50));
    scene.keys("jjjjj");
    for size in [(80, 24), (60, 8), (40, 6), (200, 60), (1, 1), (0, 0), (80, 24)] {
        scene.event(&Event::Resize(size.0, size.1));
        drop(scene.picture());
    }
    scene.shows("Iteration 3");
}

#[test]
fn on_a_narrow_screen_a_key_of_a_view_shows_it() {
    for (size, pane) in [((40, 12), Pane::View), ((59, 20), Pane::View), ((60, 20), Pane::List)] {
        for keys in ["t", "o", "<gt>"] {
            let mut scene = Scene::new(many(), size);
            assert_eq!(scene.keys(keys).app.pane, pane, "{size:?} {keys}");
        }
    }
    let mut scene = Scene::new(many(), (40, 12));
    scene.keys("t").shows("All tasks");
    scene.keys("<Esc>").shows("Sessions");
}

#[test]
fn the_view_that_is_shown_is_named_on_any_screen() {
    for (size, keys, expected) in [
        ((80, 24), "t", "│ output  describe  Diff  Prompt  tasks  history\n"),
        ((60, 20), "t", "│ o  d  D  P  tasks  h\n"),
        ((60, 20), "d", "│ o  describe  D  P  t  h\n"),
        ((40, 12), "h", "\n o  d  D  P  t  history\n"),
        ((20, 12), "h", "\n o d D P t history\n"),
        ((12, 12), "h", "\n history\n"),
    ] {
        let mut scene = Scene::new(many(), size);
        scene.keys(keys).shows(expected);
    }
    let mut scene = Scene::new(many(), (60, 20));
    scene.keys("t").mouse(MouseEventKind::Down(MouseButton::Left), (31, 1));
    assert_eq!(scene.app.view, View::Describe);
}

#[test]
fn every_line_of_the_help_can_be_read_on_any_screen() {
    let told = || super::keys::KEY_HELP.into_iter().flatten().map(|(_, does)| *does);
    for size in [(160, 50), (80, 24), (70, 24), (40, 12), (40, 6)] {
        let mut scene = Scene::new(many(), size);
        scene.keys("?");
        let mut seen = scene.picture();
        for _ in 0..told().count() {
            if seen.contains("more") {
                scene.keys("j");
                seen.push_str(&scene.picture());
            }
        }
        for does in told() {
            assert!(seen.contains(does), "{size:?} {does}: {seen}");
        }
    }
    for (keys, mode, shown) in [
        ("?<PgDn>", Mode::Help, "more"),
        ("?G", Mode::Help, "the end"),
        ("?GG<C-b>g", Mode::Help, "Output"),
        ("?jq", Mode::Browse, "Sessions"),
        ("?Gx?", Mode::Help, "Output"),
    ] {
        let mut scene = Scene::new(many(), (40, 12));
        scene.keys(keys).shows(shown);
        assert_eq!((&scene.app.mode, scene.effects.len()), (&mode, 0), "{keys}");
    }
    let mut scene = Scene::new(many(), (80, 24));
    assert_eq!(scene.keys("?j").app.mode, Mode::Browse, "all of it was on the screen");
}

#[test]
fn a_question_that_is_too_wide_is_wrapped() {
    let mut scene = Scene::beside(at_work(), (40, 14), OwnLoop::Runs { pid: 4711 });
    scene.keys("q");
    for line in ["l    leave it running, and quit", "     the screen", "Esc  stay"] {
        scene.shows(line);
    }
}

#[test]
fn a_filter_keeps_ones_place_and_shows_what_is_listed() {
    let name = |number: u32| Effect::Copy(format!("{}:{number}", session_id(2)));
    for (keys, expected) in [
        ("jjjjj/zzzz<Esc>y", name(3)),
        ("jjjjj/zzzz<Enter>y", name(3)),
        ("jjjjj/zzzz<Enter><Esc>y", name(3)),
        ("gfy", name(7)),
        ("g/t002<Enter>y", name(4)),
        ("g/001-login<Enter>y", Effect::Copy(session_id(2).to_string())),
    ] {
        let mut scene = Scene::new(many(), (80, 24));
        scene.keys(keys);
        assert_eq!(scene.effects, [expected], "{keys}");
    }
    let mut scene = Scene::new(many(), (80, 24));
    scene.keys("jjjjj/zzzz").shows("Iteration 3");
}

#[test]
fn a_page_without_anything_on_it_is_not_opened() {
    let mut scene = Scene::new(Sample::of(Vec::new()), (80, 24));
    for keys in ["v", "e"] {
        scene.keys(keys).shows("nothing to open");
        assert_eq!(scene.effects, []);
    }
}

#[test]
fn the_list_says_how_many_sessions_there_are_and_how_many_iterations_pass_a_filter() {
    for (keys, expected) in [
        ("", " Sessions                   3 │"),
        ("<Left>g<Enter>", " Sessions                   3 │"),
        ("f", "Failed only          5 of 11 │"),
        ("/t003<Enter>", "/ t003               4 of 11 │"),
    ] {
        let mut scene = Scene::new(many(), (80, 24));
        scene.keys(keys).shows(expected);
    }
}

#[test]
fn a_long_heading_leaves_room_for_what_is_counted() {
    let heading = "Phase 3: User Story 1 - Create and view albums (Priority: P1) 🎯 MVP";
    let list = format!("## {heading}\n\n- [x] T001 One\n- [x] T002 Two\n- [ ] T003 {heading}\n");
    for size in [(120, 40), (80, 24), (60, 20), (40, 12)] {
        let mut scene = Scene::new(Sample { tasks: Some(list.clone()), ..many() }, size);
        scene.keys("t");
        for text in ["  2/3 ━━━━━━╌╌╌╌ All", "▾ 2/3 ━━━━━━╌╌╌╌ Phase 3", "» T003 3 failures"]
        {
            scene.shows(text);
        }
    }
}

#[test]
fn what_cannot_be_read_is_said_and_asked_for_once() {
    let mut scene = Scene::new(many(), (80, 24));
    scene.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('D'), KeyModifiers::NONE)));
    let request = scene.app.request().unwrap();
    scene.app.answered(&request, Err(anyhow!("the snapshot is not here\nhint: fetch it")));
    assert_eq!(scene.app.request(), None);
    scene.shows("the snapshot is not here");
    scene.shows("hint: fetch it");
}

#[test]
fn an_answer_that_nobody_waits_for_any_more_changes_nothing() {
    let mut scene = Scene::new(many(), (80, 24));
    scene.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('D'), KeyModifiers::NONE)));
    let late = scene.app.request().unwrap();
    scene.keys("t");
    let before = scene.picture();
    scene.app.answered(&late, read(&scene.source, &late));
    assert_eq!(scene.picture(), before);
}

#[test]
fn until_it_is_read_it_says_so() {
    let mut scene = Scene::new(many(), (80, 24));
    scene.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('h'), KeyModifiers::NONE)));
    scene.shows("reading …");
    let app = App::new(Rect::new(0, 0, 80, 24), Timestamp::from_seconds(START), OwnLoop::None);
    let scene = Scene { app, source: many(), effects: Vec::new() };
    scene.shows("reading …");
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let scene = Scene::new(many(), (80, 24));
    let colours = |paint: Paint| {
        let buffer = scene.buffer(paint);
        buffer.content().iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(colours(Paint::Plain), 0);
    assert!(colours(Paint::Colour) > 50);
    let buffer = scene.buffer(Paint::Plain);
    let is_reversed = |y: u16| buffer[(3, y)].modifier.contains(Modifier::REVERSED);
    assert_eq!((3..23).filter(|y| is_reversed(*y)).count(), 1, "what is chosen is seen without colours");
}

#[test]
fn the_modes_hold_keys_back() {
    let mut scene = Scene::new(many(), (80, 24));
    scene.keys("?q");
    assert!(scene.effects.is_empty() && scene.app.mode == Mode::Browse);
    scene.keys("/q");
    assert!(scene.effects.is_empty());
    assert_eq!(scene.app.list.filter, "q");
}

#[test]
fn every_key_that_is_told_of_does_something() {
    use super::keys::{KEY_HELP, act};
    for (keys, does) in KEY_HELP.into_iter().flatten().filter(|(keys, _)| !keys.is_empty()) {
        for key in keys.split(' ') {
            let (code, modifiers) = match key {
                "↓" => named("Down"),
                "↑" => named("Up"),
                "→" => named("Right"),
                "←" => named("Left"),
                "⏎" => named("Enter"),
                "Esc" | "Tab" => named(key),
                "Space" => (KeyCode::Char(' '), KeyModifiers::NONE),
                _ => match key.strip_prefix('^') {
                    Some(letter) => (KeyCode::Char(letter.chars().next().unwrap()), KeyModifiers::CONTROL),
                    None => (KeyCode::Char(key.chars().next().unwrap()), KeyModifiers::NONE),
                },
            };
            assert!(act(KeyEvent::new(code, modifiers)).is_some(), "{key}: {does}");
        }
    }
}
