//! What a restoration did, or would do.

use std::io::{self, Write};

use ralph_core::record::join_truncated;

use super::style::{Look, Paint, counted, joined, one_line};

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

/// Most paths that are named where only counts were asked for.
const NAMED: usize = 10;

/// What would be done, path by path; `name` is what it would go back to: `iteration 3 of session ...`.
pub fn write_plan(out: &mut dyn Write, name: &str, paths: &[(Deed, String)], paint: Paint) -> io::Result<()> {
    for (deed, path) in paths {
        let path = one_line(path);
        let (look, line) = match deed {
            Deed::Create => (Look::Good, format!("create  {path}")),
            Deed::Change => (Look::Plain, format!("change  {path}")),
            Deed::Remove => (Look::Bad, format!("remove  {path}")),
            Deed::Leave(why) => (Look::Dim, format!("leave   {path} ({why})")),
            Deed::Lack(why) => (Look::Warn, format!("lack    {path} (in no snapshot: {why})")),
        };
        writeln!(out, "{}", paint.paint(look, &line))?;
    }
    writeln!(out, "would go back to {name}: {}", counts(paths))
}

/// What was done; `undo` is the command that takes it back. `moment` is the short name of where files were asked for by name come from:
/// `#17`.
pub fn write_done(
    out: &mut dyn Write,
    name: &str,
    moment: Option<&str>,
    paths: &[(Deed, String)],
    undo: Option<&str>,
    paint: Paint,
) -> io::Result<()> {
    let kept = paths.iter().filter_map(|(deed, path)| match deed {
        Deed::Leave(why) => Some((Look::Dim, format!("left as it is: {} ({why})", one_line(path)))),
        Deed::Lack(why) => {
            let path = one_line(path);
            Some((Look::Warn, format!("cannot be brought back: {path} (in no snapshot: {why})")))
        }
        Deed::Create | Deed::Change | Deed::Remove => None,
    });
    let (left, lacking): (Vec<_>, Vec<_>) = kept.partition(|(look, _)| *look == Look::Dim);
    match (undo, moment) {
        (Some(_), Some(moment)) => writeln!(out, "{}", brought_back(paths, moment))?,
        (Some(_), None) => writeln!(out, "went back to {name}: {}", counts(paths))?,
        (None, _) if !lacking.is_empty() => {
            writeln!(out, "nothing was restored: what the snapshot has of {name} is here already")?;
        }
        (None, _) => writeln!(out, "nothing to do: the work tree is already as it was at {name}")?,
    }
    for (look, line) in left.iter().take(NAMED).chain(lacking.iter().take(NAMED)) {
        writeln!(out, "{}", paint.paint(*look, &format!("  {line}")))?;
    }
    let more = left.len().saturating_sub(NAMED) + lacking.len().saturating_sub(NAMED);
    if more > 0 {
        writeln!(out, "{}", paint.paint(Look::Dim, &format!("  and {more} more; --dry-run names all")))?;
    }
    if let Some(undo) = undo {
        writeln!(out, "undo: {undo}")?;
    }
    Ok(())
}

/// `brought back src/a.ts and src/b.ts from #17; removed src/c.ts, which was not there then`
fn brought_back(paths: &[(Deed, String)], moment: &str) -> String {
    let named = |is_wanted: fn(Deed) -> bool| -> Vec<String> {
        paths.iter().filter(|(deed, _)| is_wanted(*deed)).map(|(_, path)| one_line(path)).collect()
    };
    let back = named(|deed| matches!(deed, Deed::Create | Deed::Change));
    let removed = named(|deed| deed == Deed::Remove);
    let back =
        (!back.is_empty()).then(|| format!("brought back {} from {moment}", join_truncated(&back, NAMED)));
    let were = if removed.len() == 1 { "was" } else { "were" };
    let removed = (!removed.is_empty())
        .then(|| format!("removed {}, which {were} not there at {moment}", join_truncated(&removed, NAMED)));
    joined([back, removed], "; ").unwrap_or_default()
}

fn counts(paths: &[(Deed, String)]) -> String {
    let [created, changed, removed] = [Deed::Create, Deed::Change, Deed::Remove]
        .map(|wanted| paths.iter().filter(|(deed, _)| *deed == wanted).count() as u64);
    format!("{} created, {changed} changed, {removed} removed", counted(created, "file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_named_with_its_reason_and_paths_are_sanitized() {
        let name = "iteration 3 of session x";
        let paths = [
            (Deed::Create, "a\x1b[31m".to_owned()),
            (Deed::Remove, "b".to_owned()),
            (Deed::Leave("why"), "c".to_owned()),
            (Deed::Lack("too large"), "d".to_owned()),
        ];
        let mut out = Vec::new();
        write_plan(&mut out, name, &paths, Paint::Plain).unwrap();
        write_done(&mut out, name, None, &paths, Some("again"), Paint::Plain).unwrap();
        write_done(&mut out, name, Some("#3"), &paths[..2], Some("again"), Paint::Plain).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "create  a [31m\nremove  b\nleave   c (why)\n\
             lack    d (in no snapshot: too large)\n\
             would go back to iteration 3 of session x: 1 file created, 0 changed, 1 removed\n\
             went back to iteration 3 of session x: 1 file created, 0 changed, 1 removed\n  \
             left as it is: c (why)\n  cannot be brought back: d (in no snapshot: too large)\nundo: again\n\
             brought back a [31m from #3; removed b, which was not there at #3\nundo: again\n"
        );
    }
}
