//! `specify ralph fsck`: every record held against itself, and progress.txt against the record.

use std::io::{self, Write};

use anyhow::Result;

use ralph_store::{Repair, VerifyReport};
use ralph_ui::style::{counted, grouped, one_line};

use crate::cli::args::ReadArgs;
use crate::cli::repair::rebuild;
use crate::cli::{Context, ExitCode, emit};

pub fn run(repair: bool, read: &ReadArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let mut unreadable = Vec::new();
    let settled = read.choice.settle(store)?;
    let (mut verified, logs) = store.verify(&settled, &mut unreadable)?;
    for error in unreadable {
        verified.ref_problem(None, format!("{error:#}"), Repair::None);
    }
    if read.choice.is_open() {
        let repair_at = repair.then(|| context.now()).transpose()?;
        store.verify_other_refs(&logs, repair_at, &mut verified)?;
    }
    if !logs.is_empty() && context.work_tree().is_ok() {
        look_at_journal(repair, read, context, &mut verified);
    }
    emit(read.json, &verified, |out| write(out, &verified))?;
    let is_sound = verified.findings.iter().all(|finding| finding.repair == Repair::Done);
    Ok(if is_sound { ExitCode::Done } else { ExitCode::NotDone })
}

fn look_at_journal(repair: bool, read: &ReadArgs, context: &Context, verified: &mut VerifyReport) {
    match rebuild::settle(read, context, repair) {
        Ok(None) => {}
        Ok(Some(message)) => {
            let repair = if repair { Repair::Done } else { Repair::Possible };
            verified.ref_problem(None, message, repair);
        }
        Err(error) => verified.ref_problem(None, format!("{error:#}"), Repair::None),
    }
}

fn write(out: &mut impl Write, verified: &VerifyReport) -> io::Result<()> {
    for finding in &verified.findings {
        let place = match (&finding.session, finding.iteration, &finding.commit) {
            (Some(session), Some(number), _) => format!("{session}:{number}: "),
            (Some(session), None, Some(commit)) => format!("{session} {}: ", commit.short()),
            (Some(session), None, None) => format!("{session}: "),
            (None, ..) => finding.name.as_ref().map_or(String::new(), |name| format!("{}: ", one_line(name))),
        };
        let suffix = match finding.repair {
            Repair::None => "",
            Repair::Possible => " (`--repair` fixes it)",
            Repair::Done => " (repaired)",
        };
        writeln!(out, "{place}{}{suffix}", one_line(&finding.what))?;
    }
    let VerifyReport { sessions, records, files, bytes, findings } = verified;
    let looked_at = format!(
        "{}, {}, {} of {} KB",
        counted(*sessions as u64, "session"),
        counted(*records as u64, "record"),
        counted(*files as u64, "file"),
        grouped(bytes.div_ceil(1024))
    );
    match findings.len() {
        0 => writeln!(out, "{looked_at}: no problems found")?,
        found => writeln!(out, "{looked_at}: {}", counted(found as u64, "difference"))?,
    }
    Ok(())
}
