//! Times, counts and sizes in the words of a page.

use crate::style::grouped;

/// `12.3 M`
pub(super) fn short(number: u64) -> String {
    let tenth = |unit: u64| format!("{}.{}", number / unit, number % unit * 10 / unit);
    match number {
        0..10_000 => grouped(number),
        10_000..1_000_000 => format!("{} k", number / 1000),
        1_000_000..1_000_000_000 => format!("{} M", tenth(1_000_000)),
        _ => format!("{} G", tenth(1_000_000_000)),
    }
}
