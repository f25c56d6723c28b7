//! The table that comes out.

use std::fmt::Write as _;

/// One line of the table.
pub struct Row {
    pub work: String,
    pub unit: &'static str,
    pub ours: f64,
    /// None where there is nothing to compare with.
    pub git: Option<f64>,
    pub ratio: Option<f64>,
    pub goal: Goal,
    /// Elapsed time of both, where the row is about time.
    pub wall: Option<(f64, Option<f64>)>,
}

/// What a row should come to.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// Ours against git's.
    Ratio(f64),
    /// Ours alone.
    AtMost(f64),
    /// Shown for what it is.
    None,
}

impl Row {
    pub fn line(&self) -> String {
        let number = |value: f64| if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") };
        let optional = |value: Option<f64>| value.map_or("-".to_owned(), number);
        let (goal, verdict) = match self.goal {
            Goal::Ratio(goal) => {
                let is_met = self.ratio.is_some_and(|ratio| ratio <= goal);
                (format!("{goal:.2} x"), if is_met { "met" } else { "short" })
            }
            Goal::AtMost(goal) => {
                (format!("{} {}", number(goal), self.unit), if self.ours <= goal { "met" } else { "short" })
            }
            Goal::None => ("-".to_owned(), "-"),
        };
        let wall = match self.wall {
            Some((ours, git)) => format!("{} / {}", number(ours), optional(git)),
            None => "-".to_owned(),
        };
        let mut line = String::new();
        let _ = write!(
            line,
            "| {} | {} {} | {} | {} | {goal} | {verdict} | {wall} |",
            self.work,
            number(self.ours),
            self.unit,
            optional(self.git),
            optional(self.ratio)
        );
        line
    }
}

pub const HEAD: &str = "| work | ours | git | ratio | goal | verdict | elapsed ms, ours / git |
|---|---|---|---|---|---|---|";
