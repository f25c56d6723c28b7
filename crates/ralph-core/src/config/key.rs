//! What is known of a setting before it has a value: its name, what it may hold, its default and what it is for.

/// The side that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Runs or redirects something, or judges: in the project's file it counts after an approval alone.
    Approved,
    /// Widens or decides in another way: like the former it never comes from the record of another clone.
    Widens,
    /// Does neither.
    Plain,
}

/// What a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number in a range.
    Count {
        least: u64,
        most: u64,
    },
    /// A number between 0 and 1.
    Ratio,
    /// US dollars.
    Money,
    /// `60m`, `1h30m`.
    Duration,
    /// `5MiB`, or plain bytes.
    Size,
    Switch,
    /// A switch, or the word `auto`.
    AutoOrSwitch,
    Word(&'static [&'static str]),
    /// Any of these words.
    Words(&'static [&'static str]),
    /// A word too, but an unknown one costs a warning alone.
    Strategy(&'static [&'static str]),
    Text,
    /// What keeps commands in their place: a word, or a command with `{command}`.
    Mechanism,
    /// Names, the first preferred.
    Names,
    Pattern,
    Patterns,
    /// A template for the subject of a commit.
    Subject,
}

/// What stands for "nothing" in a setting that may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// It always has a value.
    Never,
    /// `none` switches it off.
    None,
    /// `none` or `0` switches it off.
    NoneOrZero,
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// As in `.specify/ralph.toml`, dotted. `capture.<name>` stands for all captures.
    pub name: &'static str,
    pub side: Side,
    pub kind: ValueKind,
    pub absence: Absence,
    /// As a user would write it.
    pub default: &'static str,
    /// What an absent value means, for people.
    pub unset: &'static str,
    /// True if the project's file may set it, which can arrive with a clone.
    pub in_file: bool,
    /// The long name of its flag, and how help calls the value; `None` if it has no flag.
    pub flag: Option<(&'static str, &'static str)>,
    /// One line, for people.
    pub doc: &'static str,
}

impl Key {
    pub(super) const fn new(
        name: &'static str,
        side: Side,
        kind: ValueKind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            side,
            kind,
            absence: Absence::Never,
            default,
            unset: "none",
            in_file: true,
            flag: None,
            doc,
        }
    }

    pub(super) const fn or_none(mut self) -> Self {
        self.absence = Absence::None;
        self
    }

    pub(super) const fn or_zero(mut self) -> Self {
        self.absence = Absence::NoneOrZero;
        self
    }

    /// Keeps it out of the project's file.
    pub(super) const fn never_in_file(mut self) -> Self {
        self.in_file = false;
        self
    }

    /// Gives it a flag of its own.
    pub(super) const fn flag(mut self, long: &'static str, value_name: &'static str) -> Self {
        self.flag = Some((long, value_name));
        self
    }

    /// Says in words what happens if no value is set.
    pub(super) const fn unset(mut self, words: &'static str) -> Self {
        self.unset = words;
        self
    }
}
