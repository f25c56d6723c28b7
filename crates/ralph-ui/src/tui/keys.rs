//! The keys: what each of them does, and its help.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::Program;
use super::contents::View;
use super::page::Step;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Move(Step),
    Left,
    Right,
    Open,
    Back,
    /// The panel so many places further.
    OtherPanel(isize),
    /// The panel with this number.
    Panel(usize),
    Show(View),
    Find,
    FailedOnly,
    Follow,
    /// The next failure, or the one before.
    Failure(isize),
    /// The next line that has what is searched for, or the one before.
    Hit(isize),
    Hint {
        is_answer: bool,
    },
    Resume,
    Stop,
    Restore,
    Accept,
    Report,
    Fold,
    OpenIn(Program),
    Help,
    Quit,
}

/// The help of the keys: what they do, and what they show.
pub const KEY_HELP: [&[(&str, &str)]; 2] = [
    &[
        ("a", "answer what the task asks"),
        ("h", "hint for the task, or the next"),
        ("r", "resume the session"),
        ("s", "stop the session (asks how)"),
        ("R", "take back work (asks first)"),
        ("x", "right so: accept (asks first)"),
        ("o", "output of the attempt"),
        ("d", "diff: what was changed"),
        ("p m", "its prompt, memory of the next"),
        ("L", "log: exit, time, files, calls"),
        ("S", "sessions: all nights"),
        ("F", "follow what runs"),
        ("e v", "open in the editor, the pager"),
        ("O", "open the page in the browser"),
    ],
    &[
        ("↑ ↓ j k", "move"),
        ("⏎ Esc", "open, back"),
        ("Space", "fold or unfold"),
        ("1-5 Tab", "panel, the next panel"),
        ("g G", "to the start, to the end"),
        ("^d ^u", "half a screen (PgDn, PgUp)"),
        ("← →", "earlier, later; back, open"),
        ("[ ]", "failure before, the next"),
        ("", ""),
        ("/", "find: failed T003 exit:1"),
        ("", "in a text: search it"),
        ("n N", "next hit, the one before"),
        ("f", "failed attempts only"),
        ("? q", "this help, quit"),
    ],
];

/// What each key means where no text is typed; those with `true` are pressed with Ctrl.
const KEYS: &[(KeyCode, bool, Act)] = &[
    (KeyCode::Char('c'), true, Act::Quit),
    (KeyCode::Char('d'), true, Act::Move(Step::HalfPages(1))),
    (KeyCode::Char('u'), true, Act::Move(Step::HalfPages(-1))),
    (KeyCode::Char('n'), true, Act::Move(Step::Lines(1))),
    (KeyCode::Char('p'), true, Act::Move(Step::Lines(-1))),
    (KeyCode::Char('j'), false, Act::Move(Step::Lines(1))),
    (KeyCode::Down, false, Act::Move(Step::Lines(1))),
    (KeyCode::Char('k'), false, Act::Move(Step::Lines(-1))),
    (KeyCode::Up, false, Act::Move(Step::Lines(-1))),
    (KeyCode::Char('g'), false, Act::Move(Step::Start)),
    (KeyCode::Home, false, Act::Move(Step::Start)),
    (KeyCode::Char('G'), false, Act::Move(Step::End)),
    (KeyCode::End, false, Act::Move(Step::End)),
    (KeyCode::Left, false, Act::Left),
    (KeyCode::Right, false, Act::Right),
    (KeyCode::Enter, false, Act::Open),
    (KeyCode::Esc, false, Act::Back),
    (KeyCode::Backspace, false, Act::Back),
    (KeyCode::Tab, false, Act::OtherPanel(1)),
    (KeyCode::BackTab, false, Act::OtherPanel(-1)),
    (KeyCode::Char('1'), false, Act::Panel(0)),
    (KeyCode::Char('2'), false, Act::Panel(1)),
    (KeyCode::Char('3'), false, Act::Panel(2)),
    (KeyCode::Char('4'), false, Act::Panel(3)),
    (KeyCode::Char('5'), false, Act::Panel(4)),
    (KeyCode::Char('/'), false, Act::Find),
    (KeyCode::Char('f'), false, Act::FailedOnly),
    (KeyCode::Char('F'), false, Act::Follow),
    (KeyCode::Char(']'), false, Act::Failure(1)),
    (KeyCode::Char('['), false, Act::Failure(-1)),
    (KeyCode::Char('n'), false, Act::Hit(1)),
    (KeyCode::Char('N'), false, Act::Hit(-1)),
    (KeyCode::Char('a'), false, Act::Hint { is_answer: true }),
    (KeyCode::Char('h'), false, Act::Hint { is_answer: false }),
    (KeyCode::Char('r'), false, Act::Resume),
    (KeyCode::Char('s'), false, Act::Stop),
    (KeyCode::Char('R'), false, Act::Restore),
    (KeyCode::Char('x'), false, Act::Accept),
    (KeyCode::Char('O'), false, Act::Report),
    (KeyCode::Char(' '), false, Act::Fold),
    (KeyCode::Char('v'), false, Act::OpenIn(Program::Pager)),
    (KeyCode::Char('e'), false, Act::OpenIn(Program::Editor)),
    (KeyCode::Char('o'), false, Act::Show(View::Output)),
    (KeyCode::Char('d'), false, Act::Show(View::Diff)),
    (KeyCode::Char('p'), false, Act::Show(View::Prompt)),
    (KeyCode::Char('m'), false, Act::Show(View::Memory)),
    (KeyCode::Char('L'), false, Act::Show(View::Log)),
    (KeyCode::Char('S'), false, Act::Show(View::Sessions)),
    (KeyCode::Char('?'), false, Act::Help),
    (KeyCode::F(1), false, Act::Help),
    (KeyCode::Char('q'), false, Act::Quit),
    (KeyCode::Char('f'), true, Act::Move(Step::Pages(1))),
    (KeyCode::PageDown, false, Act::Move(Step::Pages(1))),
    (KeyCode::Char('b'), true, Act::Move(Step::Pages(-1))),
    (KeyCode::PageUp, false, Act::Move(Step::Pages(-1))),
];

/// What a key means where no text is typed.
pub fn act(key: KeyEvent) -> Option<Act> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let found = KEYS.iter().find(|(code, with_control, _)| (*code, *with_control) == (key.code, is_control));
    found.map(|(.., act)| *act)
}
