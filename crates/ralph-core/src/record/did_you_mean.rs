//! Which known name the user probably meant.

use strsim::osa_distance;

/// Maximum number of characters of a name that are compared.
const MAX_COMPARED_CHARS: usize = 200;

/// Fewest characters by which the beginning of a name is worth a hint.
const MIN_PREFIX_CHARS: usize = 3;

/// Returns the known name that is closest to `name`, if one is close enough to be worth a hint: the only one that begins with
/// it, or else the one that is spelled most like it.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = normalized(name);
    let allowed = (name.chars().count() / 3).max(1);
    let known: Vec<&str> = known.into_iter().collect();
    let is_prefix = |candidate: &&&str| normalized(candidate).starts_with(&name);
    let mut longer = known.iter().filter(is_prefix);
    if let (true, Some(only), None) = (name.chars().count() >= MIN_PREFIX_CHARS, longer.next(), longer.next())
    {
        return Some(only);
    }
    known
        .into_iter()
        .map(|candidate| (osa_distance(&name, &normalized(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// In lower case and without separators: `maxIterations` is as near to `max-iterations` as can be.
fn normalized(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | '.'))
        .flat_map(char::to_lowercase)
        .take(MAX_COMPARED_CHARS)
        .collect()
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
            ("idle.timeout", Some("idle-timeout")),
            ("MAXITER", Some("max-iterations")),
            ("time", Some("timeout")),
            ("m", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(did_you_mean(name, known), expected, "{name}");
        }
    }
}
