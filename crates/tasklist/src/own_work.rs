//! Which items are sub-tasks of which, and whether a task asks for more than these.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::item::Item;

/// A file: with a suffix, or in a folder.
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?:^|[^A-Za-z0-9_./@-])
          (?P<file>(?:[A-Za-z0-9_@.~-]+/)*[A-Za-z0-9_@.-]*[A-Za-z0-9_-]\.(?P<suffix>[a-z][a-z0-9]{0,7}))
          (?:$|[^A-Za-z0-9_])
        | (?:[A-Za-z0-9_.-]+/){2} | `[^`\s]*/[^`\s]*` | [A-Za-z0-9_.-]+/(?:$|\s)",
    )
    .expect("a valid expression")
});

/// A line below a task that names what it comes from: `_Requirements: 1.1, 2.3_`.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)^[*_]{0,3}(?:対応)?(?:requirements?|req|design|refs?|references?|spec|covers|depends(?:\s+on)?|dependenc(?:y|ies)|boundary
          |需求|要求|要件|设计|設計|依存|依[赖賴]|요구\s*사항|requisitos?|exigences?|anforderung(?:en)?|требовани[ея])
          [*_]{0,3}\s*[:：][^\n]{0,200}$",
    )
    .expect("a valid expression")
});

/// Makes items sub-tasks that are so by their numbers alone: `2` above `2.1`. The number above is digits only and unique,
/// and its sub-tasks follow before the next such number, under the same headings.
pub(super) fn link_by_number(items: &mut [Item]) {
    let mut tops: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut below: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut next_top = vec![items.len(); items.len()];
    let mut next = items.len();
    for (index, item) in items.iter().enumerate().rev() {
        next_top[index] = next;
        let Some(id) = item.id.as_deref().filter(|id| is_number(id)) else { continue };
        match id.split_once('.') {
            None => {
                tops.entry(id).or_default().push(index);
                next = index;
            }
            Some((top, _)) => below.entry(top).or_default().push(index),
        }
    }
    let mut links = Vec::new();
    for (id, indices) in &tops {
        let (&[parent], Some(parts)) = (indices.as_slice(), below.get(id)) else { continue };
        let is_together = |part: &&usize| {
            parent < **part && **part < next_top[parent] && items[**part].headings == items[parent].headings
        };
        if items[parent].is_task() && parts.iter().all(|part| is_together(&part)) {
            links.extend(
                parts.iter().filter(|part| items[**part].parent.is_none()).map(|part| (*part, parent)),
            );
        }
    }
    for (part, parent) in links {
        items[part].parent = Some(parent);
        items[parent].is_leaf = false;
    }
}

fn is_number(id: &str) -> bool {
    id.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if a task asks for more than its sub-tasks: its text names a file, or a line below it is text of its own.
pub(super) fn has_own_work(text: &str, body: &[String]) -> bool {
    names_file(text) || body.iter().any(|line| !REFERENCE.is_match(line))
}

fn names_file(text: &str) -> bool {
    FILE.captures_iter(text).any(|found| {
        let (Some(file), Some(suffix)) = (found.name("file"), found.name("suffix")) else { return true };
        let file = file.as_str();
        // `Node.js` is no file, and `e.g.` none either.
        let is_product =
            suffix.as_str() == "js" && !file.contains('/') && file.starts_with(char::is_uppercase);
        !is_product && !matches!(file, "e.g" | "i.e")
    })
}
