//! A few of many names, for a message.

use std::collections::BTreeSet;

/// Returns the first `most` of `names`, and how many more there are.
pub fn join_truncated<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Maximum number of files that a list names.
pub const MAX_LISTED_FILES: usize = 20;

/// Returns the first files of a list, and words for the others: `and 29,980 more in 14 folders`.
pub fn listed_files<S: AsRef<str>>(files: &[S], most: usize) -> (&[S], Option<String>) {
    let (named, others) = files.split_at(files.len().min(most));
    if others.is_empty() {
        return (named, None);
    }
    let folder =
        |file: &S| file.as_ref().rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let folders = others.iter().map(folder).collect::<BTreeSet<String>>().len();
    let noun = if folders == 1 { "folder" } else { "folders" };
    (named, Some(format!("and {} more in {} {noun}", grouped(others.len() as u64), grouped(folders as u64))))
}

/// Returns the first `most` files on one line, and words for the others.
pub fn join_files<S: AsRef<str>>(files: &[S], most: usize) -> String {
    let (named, more) = listed_files(files, most);
    let named: Vec<&str> = named.iter().map(AsRef::as_ref).collect();
    format!("{}{}", named.join(", "), more.map(|more| format!(" {more}")).unwrap_or_default())
}

/// `1,234,567`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_named_are_counted_with_their_folders() {
        let files: Vec<String> = (0..1303).map(|file| format!("p{}/f{file}", file % 3)).collect();
        assert_eq!(join_files(&files, 2), "p0/f0, p1/f1 and 1,301 more in 3 folders");
        assert_eq!(join_files(&["a", "b"], 1), "a and 1 more in 1 folder");
        assert_eq!(join_files(&["a", "b"], 2), "a, b");
        assert_eq!([grouped(7), grouped(999), grouped(1_234_567)], ["7", "999", "1,234,567"]);
    }

    #[test]
    fn what_is_not_named_is_counted() {
        for (most, expected) in [(1, "a and 2 more"), (2, "a, b and 1 more"), (3, "a, b, c"), (9, "a, b, c")]
        {
            assert_eq!(join_truncated(&["a", "b", "c"], most), expected);
        }
        assert_eq!(join_truncated::<&str>(&[], 3), "");
    }
}
