//! How a prompt names iterations: by number, those of other sessions with a letter before it. An id of a session is long, and
//! a sentence with five of them cannot be read.

use crate::record::{Iteration, RALPH_BY_PATH, SessionId};

/// Of more iterations, or rows of them, the newest are named and the others counted.
const MAX_NAMES: usize = 5;

/// The sessions whose iterations a prompt may name.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The session that the prompt is of, whose iterations have their numbers alone.
    own: Option<SessionId>,
    /// All others, newest first: the first one is `A`.
    others: Vec<SessionId>,
}

impl Names {
    /// Returns the names of the iterations in `past`, which go from the oldest to the newest.
    pub fn new(past: &[Iteration], own: Option<&SessionId>) -> Self {
        let mut others: Vec<SessionId> = Vec::new();
        for Iteration { session, .. } in past.iter().rev() {
            if Some(session) != own && !others.contains(session) {
                others.push(session.clone());
            }
        }
        Self { own: own.cloned(), others }
    }

    /// Returns the session that the prompt is of.
    pub(super) fn own(&self) -> Option<&SessionId> {
        self.own.as_ref()
    }

    /// Returns the letter of another session.
    pub(super) fn letter(&self, session: &SessionId) -> Option<String> {
        self.others.iter().position(|other| other == session).map(letter)
    }

    /// Returns `6`, or `A6` for one of the newest other session.
    pub fn number(&self, session: &SessionId, iteration: u32) -> String {
        match self.letter(session) {
            Some(letter) => format!("{letter}{iteration}"),
            None if self.own.as_ref() == Some(session) => iteration.to_string(),
            None => format!("{iteration} of session {session}"),
        }
    }

    /// Returns `#2`, `#1 to #3`, or `#A7, #A9 and #1`: the iterations from the oldest to the newest, rows of them as one.
    pub(super) fn list(&self, iterations: &[&Iteration]) -> String {
        let rows = iterations.chunk_by(|one, next| {
            one.session == next.session && one.iteration.checked_add(1) == Some(next.iteration)
        });
        let named = rows.flat_map(|row| {
            let name = |one: &Iteration| format!("#{}", self.number(&one.session, one.iteration));
            match row {
                [first, _, .., last] => vec![(row.len(), format!("{} to {}", name(first), name(last)))],
                _ => row.iter().map(|one| (1, name(one))).collect(),
            }
        });
        let named: Vec<(usize, String)> = named.collect();
        let (earlier, newest) = named.split_at(named.len().saturating_sub(MAX_NAMES));
        let earlier: usize = earlier.iter().map(|(count, _)| count).sum();
        let earlier = (earlier > 0).then(|| format!("{earlier} earlier"));
        let names: Vec<String> =
            earlier.into_iter().chain(newest.iter().map(|(_, name)| name.clone())).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }

    /// Returns a heading for the other sessions that `text` names iterations of, but for those that the text `before` it has it for. Empty
    /// if there are none.
    pub(super) fn heading(&self, text: &str, before: &str) -> String {
        let sessions = self.others.iter().enumerate().map(|(place, session)| (letter(place), session));
        let new = sessions
            .filter(|(letter, session)| names_one(text, letter) && !before.contains(session.as_str()));
        let new: Vec<(String, &SessionId)> = new.collect();
        let Some((first, _)) = new.first() else { return String::new() };
        let sessions: Vec<String> =
            new.iter().map(|(letter, session)| format!("{letter} is {session}")).collect();
        format!(
            "**Earlier sessions**: {}. `{RALPH_BY_PATH} show SESSION:6` shows {first}6, its iteration 6, whole.\n\n",
            sessions.join(", ")
        )
    }
}

/// Returns true if the text names an iteration with this letter.
fn names_one(text: &str, letter: &str) -> bool {
    ["#", "Iteration "].iter().any(|front| {
        let name = format!("{front}{letter}");
        let mut parts = text.split(&name).skip(1);
        parts.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// `A` to `Z`, then `AA`.
fn letter(place: usize) -> String {
    let last = char::from(b'A' + u8::try_from(place % 26).unwrap_or_default());
    if place < 26 { last.to_string() } else { format!("{}{last}", letter(place / 26 - 1)) }
}

#[cfg(test)]
mod tests {
    use super::super::samples::iteration;
    use super::*;
    use crate::record::Outcome;

    fn past(numbers: &[(u32, u32)]) -> Vec<Iteration> {
        let of = |&(day, number): &(u32, u32)| Iteration {
            session: format!("202601{day:02}-120000-00000001").parse().unwrap(),
            iteration: number,
            ..iteration(Outcome::Failure)
        };
        numbers.iter().map(of).collect()
    }

    #[test]
    fn rows_of_iterations_are_one_name_and_other_sessions_have_letters() {
        for (numbers, expected) in [
            (&[(3, 2)][..], "#2"),
            (&[(3, 1), (3, 2)], "#1 and #2"),
            (&[(3, 1), (3, 2), (3, 3)], "#1 to #3"),
            (&[(1, 4), (2, 5), (2, 6), (2, 7), (3, 8), (3, 10)], "#B4, #A5 to #A7, #8 and #10"),
            (
                &[(3, 1), (3, 2), (3, 3), (3, 5), (3, 7), (3, 9), (3, 11), (3, 13)],
                "3 earlier, #5, #7, #9, #11 and #13",
            ),
        ] {
            let past = past(numbers);
            let own = "20260103-120000-00000001".parse().unwrap();
            let names = Names::new(&past, Some(&own));
            assert_eq!(names.list(&past.iter().collect::<Vec<_>>()), expected);
        }
        assert_eq!([0, 25, 26, 51, 52].map(letter), ["A", "Z", "AA", "AZ", "BA"]);
    }

    #[test]
    fn a_session_is_named_once_and_only_where_its_letter_is_used() {
        let names = Names::new(&past(&[(1, 4), (2, 5)]), None);
        let text = "Iteration A5 failed; as #A1, and colour #B";
        let heading = names.heading(text, "");
        assert!(heading.starts_with("**Earlier sessions**: A is 20260102-120000-00000001. `"), "{heading}");
        assert!(!heading.contains("20260101"), "{heading}");
        assert_eq!(names.heading(text, &heading), "");
        assert_eq!(names.heading("nothing", ""), "");
    }
}
