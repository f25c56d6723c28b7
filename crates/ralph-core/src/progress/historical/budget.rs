//! The text of a history, within a budget of tokens.

use std::collections::BTreeSet;

use crate::progress::tokens;

use super::piece::{Piece, Section};
use super::pieces::Writer;

pub(super) const IMPORTANT: &str = "**Important**: Use this context to avoid repeating failed approaches, but don't let it constrain \
    creative solutions. If all previous approaches failed, try something fundamentally different.\n";

/// Returns the pieces that the budget has room for, between head and warning; nothing where there is room for none.
///
/// The failures of the task come first, in as few words as it takes; nothing else is included before all of them.
pub(super) fn within(head: &str, pieces: &mut [Piece], writer: &Writer<'_>, budget: usize) -> String {
    for piece in &mut *pieces {
        piece.is_included = true;
    }
    let whole = assembled(head, pieces, |section| writer.heading(section));
    if tokens(&whole) <= budget {
        return whole;
    }
    let mut room = budget.saturating_sub(tokens(head) + tokens(IMPORTANT));
    let own = pieces.iter().filter(|piece| piece.section == Section::FailedApproaches);
    let mut reserved: usize = own.map(Piece::least).sum();
    let mut open: BTreeSet<Section> = BTreeSet::new();
    let mut is_own_missing = false;
    for piece in pieces.iter_mut() {
        // The line end after a list is counted too.
        let is_new = !open.contains(&piece.section);
        let most = room.saturating_sub(if is_new { tokens(&writer.title(piece.section)) + 1 } else { 0 });
        if piece.section == Section::FailedApproaches {
            reserved -= piece.least();
            // One of them in full is worth less than all of them in short.
            piece.is_included = piece.fit(most.saturating_sub(reserved)) || piece.fit(most);
            is_own_missing |= !piece.is_included;
        } else {
            piece.is_included = !is_own_missing && piece.fit(most);
        }
        if piece.is_included {
            room = most - tokens(&piece.text);
            open.insert(piece.section);
        }
    }
    assembled(head, pieces, |section| writer.title(section))
}

fn assembled(head: &str, pieces: &[Piece], heading: impl Fn(Section) -> String) -> String {
    let mut included: Vec<&Piece> = pieces.iter().filter(|piece| piece.is_included).collect();
    if included.is_empty() {
        return String::new();
    }
    included.sort_by_key(|piece| (piece.section, piece.place));
    let mut text = head.to_owned();
    for of_one in included.chunk_by(|one, next| one.section == next.section) {
        text.push_str(&heading(of_one[0].section));
        text.extend(of_one.iter().map(|piece| piece.text.as_str()));
        if of_one[0].section == Section::KeyDecisions {
            text.push('\n');
        }
    }
    text.push_str(IMPORTANT);
    text
}
