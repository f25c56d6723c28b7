//! What a restoration did, or would do.

use std::io::{self, Write};

use super::style::{Count, Look, Paint, one_line};

/// What becomes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Create,
    Change,
    Remove,
    /// It differs and stays as it is, for this reason.
    Leave(&'static str),
    /// The snapshot has no such file, for this reason: whatever it was, it is not brought back.
    Lack(&'static str),
}

/// What a restoration does, path by path.
#[derive(Debug)]
pub struct RestorePlan {
    /// What it goes back to: `iteration 3 of session ...`.
    pub name: String,
    pub paths: Vec<(Deed, String)>,
}

/// Most paths that are named where only counts were asked for.
const NAMED: usize = 10;

/// What would be done, path by path.
pub fn write_plan(out: &mut dyn Write, plan: &RestorePlan, paint: Paint) -> io::Result<()> {
    for (deed, path) in &plan.paths {
        let path = one_line(path);
        match deed {
            Deed::Create => writeln!(out, "{}", paint.paint(Look::Good, &format!("create  {path}")))?,
            Deed::Change => writeln!(out, "change  {path}")?,
            Deed::Remove => writeln!(out, "{}", paint.paint(Look::Bad, &format!("remove  {path}")))?,
            Deed::Leave(why) => {
                writeln!(out, "{}", paint.paint(Look::Dim, &format!("leave   {path} ({why})")))?;
            }
            Deed::Lack(why) => {
                let line = format!("lack    {path} (in no snapshot: {why})");
                writeln!(out, "{}", paint.paint(Look::Warn, &line))?;
            }
        }
    }
    writeln!(out, "would go back to {}: {}", plan.name, plan.counts())
}

/// What was done; `undo` is the command that takes it back.
pub fn write_done(
    out: &mut dyn Write,
    plan: &RestorePlan,
    undo: Option<&str>,
    paint: Paint,
) -> io::Result<()> {
    match undo {
        Some(_) => writeln!(out, "went back to {}: {}", plan.name, plan.counts())?,
        None if plan.lacking().next().is_some() => {
            writeln!(out, "nothing was restored: what the snapshot has of {} is here already", plan.name)?;
        }
        None => writeln!(out, "nothing to do: the work tree is already as it was at {}", plan.name)?,
    }
    let left = || plan.paths.iter().filter_map(|(deed, path)| as_left(*deed).map(|why| (why, path)));
    for (why, path) in left().take(NAMED) {
        writeln!(out, "{}", paint.paint(Look::Dim, &format!("  left as it is: {} ({why})", one_line(path))))?;
    }
    for (why, path) in plan.lacking().take(NAMED) {
        let line = format!("  cannot be brought back: {} (in no snapshot: {why})", one_line(path));
        writeln!(out, "{}", paint.paint(Look::Warn, &line))?;
    }
    let more =
        [left().count(), plan.lacking().count()].map(|all| all.saturating_sub(NAMED)).iter().sum::<usize>();
    if more > 0 {
        writeln!(out, "{}", paint.paint(Look::Dim, &format!("  and {more} more; --dry-run names all")))?;
    }
    if let Some(undo) = undo {
        writeln!(out, "undo: {undo}")?;
    }
    Ok(())
}

impl RestorePlan {
    /// Returns what cannot be brought back, and why.
    fn lacking(&self) -> impl Iterator<Item = (&'static str, &String)> {
        self.paths.iter().filter_map(|(deed, path)| match deed {
            Deed::Lack(why) => Some((*why, path)),
            _ => None,
        })
    }

    fn counts(&self) -> String {
        let count =
            |wanted: fn(Deed) -> bool| self.paths.iter().filter(|(deed, _)| wanted(*deed)).count() as u64;
        let created = count(|deed| deed == Deed::Create);
        let changed = count(|deed| deed == Deed::Change);
        let removed = count(|deed| deed == Deed::Remove);
        format!("{} created, {changed} changed, {removed} removed", Count(created, "file"))
    }
}

fn as_left(deed: Deed) -> Option<&'static str> {
    match deed {
        Deed::Leave(why) => Some(why),
        Deed::Create | Deed::Change | Deed::Remove | Deed::Lack(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_named_with_its_reason_and_paths_are_harmless() {
        let plan = RestorePlan {
            name: "iteration 3 of session x".to_owned(),
            paths: vec![
                (Deed::Create, "a\x1b[31m".to_owned()),
                (Deed::Remove, "b".to_owned()),
                (Deed::Leave("why"), "c".to_owned()),
                (Deed::Lack("too large"), "d".to_owned()),
            ],
        };
        let mut out = Vec::new();
        write_plan(&mut out, &plan, Paint::Plain).unwrap();
        write_done(&mut out, &plan, Some("again"), Paint::Plain).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "create  a [31m\nremove  b\nleave   c (why)\n\
             lack    d (in no snapshot: too large)\n\
             would go back to iteration 3 of session x: 1 file created, 0 changed, 1 removed\n\
             went back to iteration 3 of session x: 1 file created, 0 changed, 1 removed\n  \
             left as it is: c (why)\n  cannot be brought back: d (in no snapshot: too large)\nundo: again\n"
        );
    }
}
