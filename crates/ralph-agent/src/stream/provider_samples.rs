//! Texts of providers, for tests alone.

use std::sync::LazyLock;

use ralph_core::record::{FailureClass, Timestamp};

/// A text, and what it means.
pub(super) struct ProviderText {
    pub source: &'static str,
    pub class: FailureClass,
    pub resets_at: Option<Timestamp>,
    pub words: String,
}

pub(super) static TEXTS: LazyLock<Vec<ProviderText>> = LazyLock::new(|| {
    let rows = include_str!("../../../../fixtures/provider-texts.tsv").lines();
    let rows = rows.filter(|row| !row.starts_with('#')).map(|row| {
        let mut fields = row.splitn(4, '\t');
        let mut field = || fields.next().unwrap_or_else(|| panic!("a field is missing: {row}"));
        ProviderText {
            source: field(),
            class: field().parse().unwrap(),
            resets_at: Some(field()).filter(|at| *at != "-").map(|at| at.parse().unwrap()),
            words: field().replace("\\n", "\n"),
        }
    });
    rows.collect()
});
