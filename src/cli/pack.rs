//! `specify ralph pack`: our loose objects into one pack, and loose refs of finished sessions into `packed-refs`. A loop has it done beside itself where there are many.

use std::fs::File;
use std::io::Write;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::process::Detached;
use crate::record::Event;
use crate::store::{MIN_LOOSE_TO_PACK, Packed, SessionRefs, loose_objects};
use crate::view::style::{Count, grouped};

use super::own_command::own_program;
use super::{Context, ExitCode, Json, emit};

/// Iterations between two checks of a running loop for loose objects to pack.
const CHECK_INTERVAL_ITERATIONS: u32 = 50;

pub fn run(json: Json, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let packed = store.pack()?;
    let Packed { objects, bytes, removed, freed, merged, refs } = packed.unwrap_or_default();
    let report = json!({
        "is_done": packed.is_some(),
        "objects": objects,
        "bytes": bytes,
        "removed_files": removed,
        "removed_bytes": freed,
        "merged_packs": merged,
        "packed_refs": refs,
    });
    emit(json, &report, |out| writeln!(out, "{}", words(packed)))
}

fn words(packed: Option<Packed>) -> String {
    let Some(Packed { objects, bytes, removed, freed, merged, refs }) = packed else {
        return "another process is packing here".to_owned();
    };
    let mut text = "no loose objects to pack".to_owned();
    if objects > 0 {
        text = format!(
            "packed {} into {} KB; {} of {} KB removed",
            Count(objects as u64, "object"),
            grouped(bytes.div_ceil(1024)),
            Count(removed as u64, "loose file"),
            grouped(freed.div_ceil(1024))
        );
    }
    if merged > 0 {
        text.push_str(&format!("; {} merged into one", Count(merged as u64, "older pack")));
    }
    if refs > 0 {
        text.push_str(&format!("; {} packed", Count(refs as u64, "ref")));
    }
    text
}

/// Has `specify ralph pack` done by a process of its own when a loop has left much that is loose.
pub struct Packer<'a> {
    context: &'a Context,
    /// What was started last.
    running: Option<Detached>,
}

impl<'a> Packer<'a> {
    pub fn new(context: &'a Context) -> Self {
        Self { context, running: None }
    }

    /// What cannot be packed now is packed another day, so it stops nothing.
    pub fn look_after(&mut self, event: &Event) -> Result<()> {
        let refs = match event {
            Event::IterationRecorded { iteration, record, .. }
                if iteration.is_multiple_of(CHECK_INTERVAL_ITERATIONS) =>
            {
                SessionRefs::new(&record.feature, record.session.clone())
            }
            Event::SessionEnded { session, .. } => SessionRefs::new(&session.feature, session.id.clone()),
            _ => return Ok(()),
        };
        let store = self.context.store()?;
        // Has what `status` shows counted while few records are new.
        store.overview(&refs)?;
        let is_at_it = self.running.as_mut().is_some_and(|running| !running.is_over());
        if is_at_it || loose_objects(store.repository())? < MIN_LOOSE_TO_PACK {
            return Ok(());
        }
        let mut argv = own_program()?;
        argv.extend(["pack", "--json"].map(str::to_owned));
        let said = store.repository().ralph_dir().join("packing.log");
        let said = File::create(&said).with_context(|| format!("create {said}"))?;
        let started = Detached::start(&argv, &self.context.directory, said);
        self.running = Some(started.context("start the packing")?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_reported_in_one_line() {
        let packed =
            Packed { objects: 1802, bytes: 3_000_000, removed: 1, freed: 8_800_001, merged: 0, refs: 0 };
        assert_eq!(
            words(Some(packed)),
            "packed 1,802 objects into 2,930 KB; 1 loose file of 8,594 KB removed"
        );
        assert_eq!(words(Some(Packed::default())), "no loose objects to pack");
        let merged = Packed { merged: 9, ..Packed::default() };
        assert_eq!(words(Some(merged)), "no loose objects to pack; 9 older packs merged into one");
        let refs = Packed { refs: 240, ..Packed::default() };
        assert_eq!(words(Some(refs)), "no loose objects to pack; 240 refs packed");
        assert_eq!(words(None), "another process is packing here");
    }
}
