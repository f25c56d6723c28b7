//! Which known name the user probably meant.

/// The known name that is closest to `name`, if one is close enough to be worth a hint.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(name);
    let allowed = (plain.len() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&plain, &self::plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters in one case, and one separator: `maxIterations` is as near to `max-iterations` as can be.
fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).take(200).collect()
}

/// How many letters to insert, delete, replace or swap with their neighbour.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found_and_a_strange_one_is_not() {
        let known = ["max-iterations", "model", "agent", "timeout", "idle-timeout"];
        for (name, expected) in [
            ("max-iteration", Some("max-iterations")),
            ("maxIterations", Some("max-iterations")),
            ("modle", Some("model")),
            ("Agent", Some("agent")),
            ("time-out", Some("timeout")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }
}
