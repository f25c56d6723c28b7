//! What the user's own rules (`capture.NAME`) found, over time.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::Iteration;

/// The values that one rule found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Captured {
    pub name: String,
    /// In how many iterations it found something.
    pub iterations: usize,
    pub first: String,
    pub last: String,
    /// Null where some value is not a number.
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// Returns the values of all rules in `iterations`, oldest first, by the names of the rules.
pub fn captured<'a>(iterations: impl IntoIterator<Item = &'a Iteration>) -> Vec<Captured> {
    let mut found: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for iteration in iterations {
        for (name, values) in iteration.facts.captured.iter().filter(|(_, values)| !values.is_empty()) {
            let (count, all) = found.entry(name).or_default();
            *count += 1;
            all.extend(values.iter().map(String::as_str));
        }
    }
    found.into_iter().map(|(name, (count, values))| summary(name, count, &values)).collect()
}

fn summary(name: &str, iterations: usize, values: &[&str]) -> Captured {
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| value.trim().parse().ok().filter(|number: &f64| number.is_finite()))
        .collect();
    let numbers = numbers.unwrap_or_default();
    Captured {
        name: name.to_owned(),
        iterations,
        first: values.first().copied().unwrap_or_default().to_owned(),
        last: values.last().copied().unwrap_or_default().to_owned(),
        min: numbers.iter().copied().reduce(f64::min),
        max: numbers.iter().copied().reduce(f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_value_are_given_and_bounds_where_all_are_numbers() {
        for (values, first, last, bounds) in [
            (&["8080", "9", "100.5"][..], "8080", "100.5", Some((9.0, 8080.0))),
            (&["-1"], "-1", "-1", Some((-1.0, -1.0))),
            (&["fast", "3"], "fast", "3", None),
            (&["NaN", "inf"], "NaN", "inf", None),
        ] {
            let found = summary("x", values.len(), values);
            assert_eq!((found.first.as_str(), found.last.as_str()), (first, last));
            assert_eq!(found.min.zip(found.max), bounds, "{values:?}");
        }
    }
}
