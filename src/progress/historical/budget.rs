//! The text of a context, within a budget of tokens.

use std::collections::BTreeSet;

use crate::progress::tokens;

use super::piece::{Piece, Section};

use super::pieces::{Headings, Writer};

pub(super) const IMPORTANT: &str = "**Important**: Use this context to avoid repeating failed approaches, but don't let it constrain \
    creative solutions. If all previous approaches failed, try something fundamentally different.\n";

/// Returns the pieces that the budget has room for, between head and warning; nothing where there is room for none.
///
/// The failures of the task come first, in as few words as it takes; nothing else is included before all of them.
pub(super) fn within(head: &str, pieces: &mut [Piece], writer: &Writer<'_>, budget: usize) -> String {
    let whole = |pieces: &[Piece], headings| assembled(head, pieces, writer, headings);
    for piece in &mut *pieces {
        piece.is_included = true;
    }
    let text = whole(pieces, Headings::Full);
    if tokens(&text) <= budget {
        return text;
    }
    let mut room = budget.saturating_sub(tokens(head) + tokens(IMPORTANT));
    let is_own = |piece: &Piece| piece.section == Section::FailedApproaches;
    let mut reserved: usize = pieces.iter().filter(|piece| is_own(piece)).map(Piece::least).sum();
    let full = tokens(&writer.heading(Section::FailedApproaches, Headings::Full));
    let headings = if full + reserved <= room { Headings::Full } else { Headings::Bare };
    let mut open: BTreeSet<Section> = BTreeSet::new();
    let mut is_own_missing = false;
    for piece in pieces.iter_mut() {
        let is_new = !open.contains(&piece.section);
        let heading = if is_new { tokens(&writer.heading(piece.section, headings)) } else { 0 };
        let most = room.saturating_sub(heading);
        if is_own(piece) {
            reserved -= piece.least();
            // One of them in full is worth less than all of them in short.
            piece.is_included = piece.fit(most.saturating_sub(reserved)) || piece.fit(most);
            is_own_missing |= !piece.is_included;
        } else {
            piece.is_included = !is_own_missing && piece.fit(most);
        }
        if piece.is_included {
            room = most.saturating_sub(tokens(&piece.text));
            open.insert(piece.section);
        }
    }
    let mut text = whole(pieces, headings);
    while tokens(&text) > budget {
        let Some(last) = pieces.iter_mut().rev().find(|piece| piece.is_included) else {
            return String::new();
        };
        last.is_included = false;
        text = whole(pieces, headings);
    }
    text
}

fn assembled(head: &str, pieces: &[Piece], writer: &Writer<'_>, headings: Headings) -> String {
    let mut included: Vec<&Piece> = pieces.iter().filter(|piece| piece.is_included).collect();
    if included.is_empty() {
        return String::new();
    }
    included.sort_by_key(|piece| (piece.section, piece.place));
    let mut text = head.to_owned();
    let mut section = None;
    for piece in included {
        if section != Some(piece.section) {
            if section.is_some_and(is_list) {
                text.push('\n');
            }
            text.push_str(&writer.heading(piece.section, headings));
            section = Some(piece.section);
        }
        text.push_str(&piece.text);
    }
    if section.is_some_and(is_list) {
        text.push('\n');
    }
    text.push_str(IMPORTANT);
    text
}

/// Returns true if the pieces of a section are lines of one list.
fn is_list(section: Section) -> bool {
    matches!(section, Section::Clusters | Section::KeyDecisions | Section::Warnings)
}
