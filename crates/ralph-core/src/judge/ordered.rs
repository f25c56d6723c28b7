//! What the texts of tasks ask for: a check instead of a change, the removal of tests, a change of the validation.

/// First words of a task that may be done without any change.
const VERIFICATIONS: &[&str] = &[
    "run", "verify", "validate", "check", "confirm", "ensure", "review", "test", "measure", "audit",
    "execute", "install", "start", "deploy", "apply", "migrate", "commit", "tag", "push", "publish",
    "download",
];

/// Words by which a task asks for fewer tests.
const REMOVALS: &[&str] = &["skip", "disable", "quarantine", "xfail", "remove", "delete", "drop"];

/// Words by which a task asks for a change that takes work of earlier ones away.
const REVERSALS: &[&str] =
    &["remove", "delete", "replace", "rename", "move", "migrate", "revert", "refactor", "clean"];

/// Maximum number of words between such a word and the tests that it is about.
const MAX_WORDS_BETWEEN: usize = 6;

/// How the last message of an agent says that a task was done already.
const NOTHING_TO_CHANGE: &str = "nothing to change:";

/// Returns true if the work of a task is to look at something or to run it, so that no file needs to change.
pub fn is_verification(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let Some((_, behind)) = rest.strip_prefix('[').and_then(|tag| tag.split_once(']')) {
        rest = behind.trim_start();
    }
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = rest.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_')).next();
    first.is_some_and(|first| VERIFICATIONS.contains(&first.to_lowercase().as_str()))
}

/// Returns the reason in a line `Nothing to change: REASON`.
pub fn nothing_to_change(final_text: &str) -> Option<&str> {
    final_text.lines().find_map(|line| {
        let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '`' | '_' | '>'));
        let front = line.get(..NOTHING_TO_CHANGE.len())?;
        let reason = line[front.len()..].trim_start_matches('*').trim();
        (front.eq_ignore_ascii_case(NOTHING_TO_CHANGE) && !reason.is_empty()).then_some(reason)
    })
}

/// Returns true if one of the tasks asks to remove or to skip something.
pub fn orders_removal(texts: &[&str]) -> bool {
    texts.iter().any(|text| words(text).any(|word| is_removal(&word)))
}

/// Returns true if one of the tasks asks to remove or to skip tests, or what one of these files has.
pub fn orders_skip(texts: &[&str], paths: &[&str]) -> bool {
    texts.iter().any(|text| {
        let words: Vec<String> = words(text).collect();
        let mut removals = words.iter().enumerate().filter(|(_, word)| is_removal(word));
        removals.any(|(at, _)| {
            let end = (at + MAX_WORDS_BETWEEN + 2).min(words.len());
            words[at.saturating_sub(MAX_WORDS_BETWEEN + 1)..end].iter().any(|word| {
                matches!(word.as_str(), "test" | "tests") || paths.iter().any(|path| names_file(word, path))
            })
        })
    })
}

/// Returns true if the tasks ask for a change of all these own files of the validation (`check.sh`,
/// `package.json#scripts.test`): by their names, by the word `validation`, or because their phase is the setup.
pub fn orders_own_file_change(texts: &[&str], names: &[String], phase: Option<&str>) -> bool {
    phase.is_some_and(|phase| words(phase).any(|word| word == "setup"))
        || texts.iter().any(|text| words(text).any(|word| word == "validation"))
        || names.iter().all(|name| {
            let path = name.split('#').next().unwrap_or(name);
            texts.iter().any(|text| words(text).any(|word| names_file(&word, path)))
        })
}

/// Returns true if one of the tasks asks to take away or to change what there is, or names one of these files.
pub fn orders_reversal(texts: &[&str], paths: &[String]) -> bool {
    texts.iter().any(|text| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .any(|word| REVERSALS.contains(&word.to_lowercase().as_str()))
            || words(text).any(|word| paths.iter().any(|path| names_file(&word, path)))
    })
}

fn is_removal(word: &str) -> bool {
    REMOVALS.contains(&word)
}

/// Returns the words in lower case, paths in one piece.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')));
    words.map(|word| word.trim_end_matches(['.', '/']).trim_start_matches("./").to_lowercase())
}

/// Returns true if a word is the path of a file or ends it. `check` alone is no file `scripts/check`.
fn names_file(word: &str, path: &str) -> bool {
    let path = path.to_lowercase();
    let is_end = path.strip_suffix(word).is_some_and(|front| front.is_empty() || front.ends_with('/'));
    is_end && (word.contains(['.', '/']) || word.ends_with("file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verification_is_known_by_its_first_word() {
        for text in [
            "Run quickstart.md",
            "[P] [US1] Verify the login",
            "**Validate** all links",
            "`Ensure` it",
            "[US-2] - commit and push",
            "TEST everything",
        ] {
            assert!(is_verification(text), "{text}");
        }
        for text in [
            "Add a check of the login",
            "Running totals",
            "Test-driven rewrite",
            "Tests for login",
            "[P] Checkout page",
            "",
            "[P]",
        ] {
            assert!(!is_verification(text), "{text}");
        }
    }

    #[test]
    fn a_reason_stands_on_a_line_of_its_own() {
        for (text, expected) in [
            ("Done.\nNothing to change: the parser does it already\n", Some("the parser does it already")),
            ("**Nothing to change:** in place", Some("in place")),
            ("`nothing to change: x`", Some("x")),
            ("There was nothing to change: x", None),
            ("Nothing to change:\n", None),
            ("Nothing to chängé: x", None),
            ("", None),
        ] {
            assert_eq!(nothing_to_change(text), expected, "{text}");
        }
    }

    #[test]
    fn removals_are_ordered_by_whole_words() {
        for (text, removal, skip) in [
            ("Remove the legacy tests", true, true),
            ("Skip the flaky case in `tests/a.test.js` for now", true, true),
            ("Mark the test of the clock as xfail", true, true),
            ("Delete tests/A.test.js.", true, true),
            ("Quarantine a.test.js", true, true),
            ("Remove the legacy login and all of its configuration keys, then add a test", true, false),
            ("Drop the column", true, false),
            ("Disable `other.test.js`", true, false),
            ("Add a test for dropdowns and skipping", false, false),
            ("Deleted users cannot log in", false, false),
        ] {
            assert_eq!(orders_removal(&["x", text]), removal, "{text}");
            assert_eq!(orders_skip(&["x", text], &["tests/a.test.js"]), skip, "{text}");
        }
    }

    #[test]
    fn a_reversal_is_ordered_by_whole_words_or_by_a_file() {
        let paths = ["src/app.py".to_owned(), "Makefile".to_owned()];
        for text in [
            "Remove the old login",
            "[P] Clean-up of forms",
            "Then REVERT it",
            "rename: users to people",
            "Extend src/app.py",
            "Extend `app.py`.",
            "A target in the Makefile",
        ] {
            assert!(orders_reversal(&["x", text], &paths), "{text}");
        }
        for text in ["Removed users", "A clean_room", "Extend other/app.py", "The app", "Refactoring", ""] {
            assert!(!orders_reversal(&["x", text], &paths), "{text}");
        }
    }

    #[test]
    fn a_change_of_the_validation_is_ordered_by_name_word_or_phase() {
        let case = |text: &str, names: &[&str], phase: Option<&str>| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            orders_own_file_change(&["x", text], &names, phase)
        };
        for (text, name) in [
            ("Extend check.sh", "check.sh"),
            ("Extend `./scripts/check.sh`", "scripts/check.sh"),
            ("Add a target to the Makefile", "Makefile"),
            ("Add the test script to package.json", "package.json#scripts.test"),
            ("Make the validation strict", "check.sh"),
        ] {
            assert!(case(text, &[name], None), "{text}");
        }
        for (text, name) in [
            ("Check the input", "scripts/check"),
            ("Extend recheck.sh", "check.sh"),
            ("Extend other/check.sh", "scripts/check.sh"),
            ("Validations of forms", "check.sh"),
        ] {
            assert!(!case(text, &[name], Some("Phase 2: Set up users")), "{text}");
        }
        assert!(!case("Extend check.sh", &["check.sh", "ci.sh"], None));
        assert!(case("Add linting", &["check.sh"], Some("Phase 1: Setup (Shared Infrastructure)")));
    }
}
