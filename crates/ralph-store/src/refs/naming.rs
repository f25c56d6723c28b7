//! Names of our refs: made and parsed here, and nowhere else.

use sha2::{Digest, Sha256};

use ralph_core::record::{SessionId, hex};

/// The logs: one ref per session.
pub const LOG_PREFIX: &str = "refs/ralph/";
/// The snapshots of work trees: one ref per session.
pub const SNAPSHOT_PREFIX: &str = "refs/ralph-snap/";
/// Which commits of the project were made in which iteration.
pub const NOTES: &str = "refs/notes/ralph";
/// The sessions that were purged.
pub const TOMBSTONES: &str = "refs/ralph-meta/tombstones";
/// What came from elsewhere and was not looked at yet.
pub const INCOMING_PREFIX: &str = "refs/ralph-incoming/";

/// A longer slug, in bytes, is cut and made unique by a hash.
const SLUG_LIMIT: usize = 120;
/// How much of a long slug stays readable.
const SLUG_KEPT: usize = 80;

/// The refs of one session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionRefs {
    pub session: SessionId,
    slug: String,
}

impl SessionRefs {
    /// `feature` is its path from the repository's root.
    pub fn new(feature: &str, session: SessionId) -> Self {
        Self { session, slug: slug(feature) }
    }

    /// Reads the name of a log ref; none if it is no name that we make.
    pub fn from_log(name: &str) -> Option<Self> {
        let (slug, session) = name.strip_prefix(LOG_PREFIX)?.split_once('/')?;
        let session = session.parse().ok()?;
        is_slug(slug).then(|| Self { session, slug: slug.to_owned() })
    }

    /// Reads the name of a log or of a chain of snapshots; none if it is no name that we make.
    pub fn from_name(name: &str) -> Option<Self> {
        let log = name.strip_prefix(SNAPSHOT_PREFIX).map(|rest| format!("{LOG_PREFIX}{rest}"));
        Self::from_log(log.as_deref().unwrap_or(name))
    }

    /// Returns true if a ref of that name is a log or a chain of snapshots, if we made it.
    pub fn is_name_of_ours(name: &str) -> bool {
        Self::from_name(name).is_some()
    }

    /// Returns true if these are the names that sessions of a feature get, by its path.
    pub fn is_of(&self, feature: &str) -> bool {
        self.slug == slug(feature)
    }

    pub fn log(&self) -> String {
        format!("{LOG_PREFIX}{}/{}", self.slug, self.session)
    }

    pub fn snapshot(&self) -> String {
        format!("{SNAPSHOT_PREFIX}{}/{}", self.slug, self.session)
    }
}

/// Returns the names that must not be refs themselves, or git could not hold those of this feature below them.
pub fn folders(feature: &str) -> [String; 2] {
    [LOG_PREFIX, SNAPSHOT_PREFIX].map(|prefix| format!("{prefix}{}", slug(feature)))
}

/// Returns the path of a feature as one component of a ref name: `specs/001-login` is `001-login`.
///
/// Lower case letters, digits, `-` and `_` stay; every other byte is `=hh`, so that no two features share a name
/// also where file names have no case, and nothing that git forbids in a name is left.
pub fn slug(feature: &str) -> String {
    let feature = feature.strip_prefix("specs/").unwrap_or(feature);
    let mut slug = String::with_capacity(feature.len());
    for (i, byte) in feature.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' => slug.push(char::from(byte)),
            b'-' if i > 0 => slug.push('-'),
            _ => slug.push_str(&format!("={byte:02x}")),
        }
    }
    if slug.len() <= SLUG_LIMIT {
        return slug;
    }
    // `==` occurs in no short slug, where two digits follow every `=`.
    let hash = hex(&Sha256::digest(feature.as_bytes())[..8]);
    format!("{}=={hash}", slug[..SLUG_KEPT].trim_end_matches('='))
}

fn is_slug(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'='))
}

/// Returns the sessions among refs.
pub fn sessions_among<'a>(names: impl Iterator<Item = &'a String>) -> Vec<SessionId> {
    let mut sessions: Vec<SessionId> = names
        .filter(|name| name.starts_with(LOG_PREFIX))
        .filter_map(|name| SessionRefs::from_name(name))
        .map(|refs| refs.session)
        .collect();
    sessions.sort();
    sessions
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(feature: &str, expected: &str) {
        assert_eq!(slug(feature), expected);
    }

    #[test]
    fn a_slug_is_readable_and_safe() {
        case("specs/001-login", "001-login");
        case("001-login", "001-login");
        case("specs/001-Login", "001-=4cogin");
        case("docs/PLAN.md", "docs=2f=50=4c=41=4e=2emd");
        case("-n", "=2dn");
        case("a=b", "a=3db");
        case("x.lock", "x=2elock");
        case("ü", "=c3=bc");
    }

    #[test]
    fn long_features_are_cut_and_told_apart() {
        let one = slug(&format!("specs/{}1", "a".repeat(300)));
        let two = slug(&format!("specs/{}2", "a".repeat(300)));
        assert_ne!(one, two);
        assert!(one.len() <= SLUG_LIMIT && one.contains("=="), "{one}");
    }

    #[test]
    fn foreign_names_are_not_ours() {
        for name in [
            "refs/ralph/x",
            "refs/ralph/x/y",
            "refs/heads/main",
            "refs/ralph/-x/20261121-204512-3f9a0c1d",
            "refs/ralph/X/20261121-204512-3f9a0c1d",
        ] {
            assert_eq!(SessionRefs::from_log(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn two_features_never_share_a_slug(one in "\\PC{0,60}", two in "\\PC{0,60}") {
            let bare = |text: &str| text.strip_prefix("specs/").unwrap_or(text).to_owned();
            prop_assert_eq!(slug(&one) == slug(&two), bare(&one) == bare(&two));
        }

        #[test]
        fn a_name_is_read_back(feature in "\\PC{1,200}", seconds in 0i64..4_000_000_000, salt: u32) {
            let session = SessionId::new(ralph_core::record::Timestamp::from_seconds(seconds), salt);
            let refs = SessionRefs::new(&feature, session);
            prop_assert_eq!(SessionRefs::from_log(&refs.log()), Some(refs.clone()));
        }
    }
}
