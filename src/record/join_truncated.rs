//! A few of many names, for a message.

/// Returns the first `most` of `names`, and how many more there are.
pub fn join_truncated<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_counted() {
        for (most, expected) in [(1, "a and 2 more"), (2, "a, b and 1 more"), (3, "a, b, c"), (9, "a, b, c")]
        {
            assert_eq!(join_truncated(&["a", "b", "c"], most), expected);
        }
        assert_eq!(join_truncated::<&str>(&[], 3), "");
    }
}
