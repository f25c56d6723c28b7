//! How people name an iteration: `5`, `SESSION:5`, `@`, `@~2`, `T004`, `1f2e3d4c`, `HEAD`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};

use super::SessionId;

/// Most digits of a number that is looked for among lanes: an id of a session begins with those of a year.
const MAX_LANE_DIGITS: usize = 3;

/// The day and the second of the id of a session, which says more to people than what is as unique.
const MIN_ID_LENGTH: usize = "20261121-204512".len();

/// A session by its id, or by as much of its beginning as no other session has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionName(String);

/// An iteration, or the moment before the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationName {
    /// None means the latest session.
    pub session: Option<SessionName>,
    pub which: Which,
}

/// Which iteration of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// `0`: what was there before the first.
    Start,
    /// `5`
    Number(u32),
    /// `@` is the last one, `@~2` stands two before it.
    Last { back: u32 },
    /// `T004`: the last one that worked on this task; `1f2e3d4c`, `HEAD`: the one that a commit belongs to.
    Named(String),
}

/// What commands call attempts without the id of a session: those of the newest session by their number, those of its group by
/// lane and number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShortNames {
    sessions: Vec<(SessionId, Option<u32>)>,
    /// How much of the id of another session names it, in bytes; `None` if all of it.
    id_length: Option<usize>,
}

impl ShortNames {
    /// `sessions` are the newest one, or all of its group with their lanes, in the order of their ids.
    pub fn of(sessions: impl Iterator<Item = (SessionId, Option<u32>)>) -> Self {
        Self { sessions: sessions.collect(), id_length: None }
    }

    /// Returns those where commands mean none of the sessions: each by as much of its id as no other of `all` has, which are in order.
    pub fn of_others(all: &[SessionId]) -> Self {
        let same = all.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| {
            let [one, other] = [&pair[0], &pair[1]].map(|id| id.as_str().bytes());
            one.zip(other).take_while(|(one, other)| one == other).count()
        });
        let id_length = same.max().map_or(MIN_ID_LENGTH, |same| MIN_ID_LENGTH.max(same + 1));
        Self { sessions: Vec::new(), id_length: Some(id_length) }
    }

    /// Returns those of one session by their number.
    pub fn alone(session: &SessionId) -> Self {
        Self::of([(session.clone(), None)].into_iter())
    }

    /// Returns true if commands mean this session, or its group, where none is named.
    pub fn has(&self, session: &SessionId) -> bool {
        self.sessions.iter().any(|(id, _)| id == session)
    }

    /// Returns true if there are several sessions.
    pub fn is_of_group(&self) -> bool {
        self.sessions.len() > 1
    }

    /// Returns the lanes of its sessions.
    pub fn lanes(&self) -> BTreeSet<u32> {
        self.sessions.iter().filter_map(|(_, lane)| *lane).collect()
    }

    /// Returns the session in a lane. A loop that died left its lane to the one that was started for it: that has its name.
    pub fn in_lane(&self, lane: u32) -> Option<&SessionId> {
        self.sessions.iter().rfind(|(_, of)| *of == Some(lane)).map(|(id, _)| id)
    }

    /// Returns the name of an attempt, as commands take it: `14`, `2:14`, or `SESSION:14`.
    pub fn name(&self, session: &SessionId, number: u32) -> String {
        match self.sessions.iter().find(|(id, _)| id == session) {
            Some(_) if !self.is_of_group() => number.to_string(),
            Some((_, Some(lane))) if self.in_lane(*lane) == Some(session) => format!("{lane}:{number}"),
            _ => {
                let id = session.as_str();
                format!("{}:{number}", id.get(..self.id_length.unwrap_or(id.len())).unwrap_or(id))
            }
        }
    }

    /// Returns the same in a text: `#14` where it is a number alone.
    pub fn mark(&self, session: &SessionId, number: u32) -> String {
        let name = self.name(session, number);
        if name.contains(':') { name } else { format!("#{name}") }
    }
}

impl SessionName {
    /// Returns the lane that it may be; `None` for what is too long for the number of one.
    pub fn lane(&self) -> Option<u32> {
        self.0.parse().ok().filter(|_| self.0.len() <= MAX_LANE_DIGITS)
    }

    pub fn matches(&self, id: &SessionId) -> bool {
        id.as_str().starts_with(&self.0)
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SessionName {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
        let is_id = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        if !begins || text.len() > 24 || !is_id {
            bail!(
                "`{text}` is not a session id, nor the beginning of one; expected something like 20261121-204512-3f9a0c1d"
            );
        }
        Ok(Self(text.to_owned()))
    }
}

impl From<SessionId> for SessionName {
    fn from(id: SessionId) -> Self {
        Self(id.to_string())
    }
}

impl IterationName {
    /// The last iteration of the latest session.
    pub const LAST: Self = Self { session: None, which: Which::Last { back: 0 } };

    /// Returns true if it may just as well have been meant as the name of a session.
    pub fn is_like_session(&self) -> bool {
        let text = match &self.which {
            Which::Named(name) => name.clone(),
            Which::Number(number) => number.to_string(),
            Which::Start | Which::Last { .. } => return false,
        };
        self.session.is_none() && text.len() >= 8 && text.parse::<SessionName>().is_ok()
    }
}

impl fmt::Display for IterationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(session) = &self.session {
            write!(f, "{session}:")?;
        }
        match &self.which {
            Which::Start => f.write_str("0"),
            Which::Number(number) => write!(f, "{number}"),
            Which::Last { back: 0 } => f.write_str("@"),
            Which::Last { back } => write!(f, "@~{back}"),
            Which::Named(name) => f.write_str(name),
        }
    }
}

impl FromStr for IterationName {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        // The id of an iteration in JSON is `<session>-iter-<N>`.
        let parts = text.split_once(':').or_else(|| text.split_once("-iter-"));
        let named = parts.and_then(|(session, rest)| Some((session.parse::<SessionName>().ok()?, rest)));
        let (session, rest) = named.map_or((None, text), |(session, rest)| (Some(session), rest));
        let which = if let Some(back) = rest.strip_prefix('@') {
            match (back, back.strip_prefix('~').map(str::parse)) {
                ("", _) => Which::Last { back: 0 },
                ("~", _) => Which::Last { back: 1 },
                (_, Some(Ok(back))) => Which::Last { back },
                _ => bail!("`{text}` is not an iteration: expected `@` or `@~N`"),
            }
        } else if let Some(which) = numbered(rest) {
            which
        } else if rest.trim().is_empty() {
            bail!(
                "`{text}` is not an iteration: expected a number, `@`, `@~2`, a task like T004 or a commit"
            );
        } else {
            Which::Named(rest.to_owned())
        };
        Ok(Self { session, which })
    }
}

/// Reads a number. `None` for what can only be the id of a commit, which may consist of digits.
fn numbered(text: &str) -> Option<Which> {
    let is_id = text.len() > 6 && text.starts_with('0');
    if is_id || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match text.parse().ok()? {
        0 => Some(Which::Start),
        number => Some(Which::Number(number)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_of_a_name_is_read() {
        let session = |text: &str| Some(text.parse::<SessionName>().unwrap());
        for (text, name, which) in [
            ("5", None, Which::Number(5)),
            ("0", None, Which::Start),
            ("@", None, Which::Last { back: 0 }),
            ("@~", None, Which::Last { back: 1 }),
            ("@~2", None, Which::Last { back: 2 }),
            ("T004", None, Which::Named("T004".into())),
            ("T004#2", None, Which::Named("T004#2".into())),
            ("#7", None, Which::Named("#7".into())),
            ("0012345", None, Which::Named("0012345".into())),
            ("99999999999", None, Which::Named("99999999999".into())),
            ("HEAD~2", None, Which::Named("HEAD~2".into())),
            ("1.2", None, Which::Named("1.2".into())),
            ("US:1", None, Which::Named("US:1".into())),
            ("20261121-204512-3f9a0c1d:5", session("20261121-204512-3f9a0c1d"), Which::Number(5)),
            ("20261121-204512-3f9a0c1d-iter-5", session("20261121-204512-3f9a0c1d"), Which::Number(5)),
            ("2026:@~1", session("2026"), Which::Last { back: 1 }),
            ("20261121-2:T004", session("20261121-2"), Which::Named("T004".into())),
        ] {
            assert_eq!(
                text.parse::<IterationName>().unwrap(),
                IterationName { session: name, which },
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", " ", "@2", "@~x", "@~-1", "2026:", "2026:@x"] {
            assert!(text.parse::<IterationName>().is_err(), "{text}");
        }
        for text in ["", "x", "-2026", "2026/..", "20261121-204512-3f9a0c1d0", "2026G"] {
            assert!(text.parse::<SessionName>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_session_is_named_by_its_beginning() {
        let id: SessionId = "20261121-204512-3f9a0c1d".parse().unwrap();
        assert!("20261121-2".parse::<SessionName>().unwrap().matches(&id));
        assert!(!"20261121-3".parse::<SessionName>().unwrap().matches(&id));
        assert!("20261121-204512".parse::<IterationName>().unwrap().is_like_session());
        assert!(!"T004".parse::<IterationName>().unwrap().is_like_session());
    }

    #[test]
    fn attempts_of_a_group_are_named_by_lane_and_number() {
        let id = |number| SessionId::new(crate::record::Timestamp::from_seconds(number), 1);
        let names =
            |of: &[(i64, Option<u32>)]| ShortNames::of(of.iter().map(|(number, lane)| (id(*number), *lane)));
        // The loop in lane 2 died, and another was started for it.
        let group = names(&[(1, Some(1)), (2, Some(2)), (3, Some(2))]);
        for (names, session, name, mark) in [
            (names(&[(1, None)]), 1, "7".to_owned(), "#7".to_owned()),
            (names(&[(1, None)]), 2, format!("{}:7", id(2)), format!("{}:7", id(2))),
            (names(&[(1, Some(3))]), 1, "7".to_owned(), "#7".to_owned()),
            (group.clone(), 1, "1:7".to_owned(), "1:7".to_owned()),
            (group.clone(), 3, "2:7".to_owned(), "2:7".to_owned()),
            (group.clone(), 2, format!("{}:7", id(2)), format!("{}:7", id(2))),
            (ShortNames::default(), 1, format!("{}:7", id(1)), format!("{}:7", id(1))),
        ] {
            assert_eq!((names.name(&id(session), 7), names.mark(&id(session), 7)), (name, mark));
        }
        assert_eq!(group.lanes(), BTreeSet::from([1, 2]));
        let all = ["20261121-204512-3f9a0c1d", "20261121-204513-3f9a0c1d", "20261121-204513-3f0a0c1d"];
        let mut all = all.map(|id| id.parse::<SessionId>().unwrap());
        all.sort();
        let names: Vec<String> = all.iter().map(|id| ShortNames::of_others(&all).name(id, 7)).collect();
        assert_eq!(names, ["20261121-204512-3f9:7", "20261121-204513-3f0:7", "20261121-204513-3f9:7"]);
        assert_eq!(ShortNames::of_others(&all[..2]).name(&all[0], 7), "20261121-204512:7");
        for (text, lane) in [("2", Some(2)), ("12", Some(12)), ("2026", None), ("2-", None)] {
            assert_eq!(text.parse::<SessionName>().unwrap().lane(), lane, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_back_as_it_was_written(text in "([0-9a-f-]{1,24}:)?(@|@~[0-9]{1,3}|[0-9]{1,9}|[A-Z#][A-Za-z0-9#.:]{0,8})") {
            if let Ok(name) = text.parse::<IterationName>() {
                prop_assert_eq!(name.to_string().parse::<IterationName>().unwrap(), name);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            drop(text.parse::<IterationName>());
        }
    }
}
