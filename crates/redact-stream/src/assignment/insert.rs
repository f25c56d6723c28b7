//! Values of a column that promises a secret, in statements: `INSERT INTO users (name, password) VALUES (...)`.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::expression::expression;
use crate::secret::Secret;
use crate::view::View;

use super::judge::{is_mixed, is_placeholder};

const MAX_ROWS: usize = 200;

/// Least bytes of a password.
const MIN_BYTES: usize = 4;

/// What stands before the name of the column, what stands between it and the first row, and a value with what follows it. Quotes
/// may be escaped, quotes within are doubled, and the arguments of a call are no values.
static STATEMENT: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        r#"(?i)(?:insert into |replace into |copy )[^(]*\(([\w, \t\r\n"'`\[\].\\]*)$"#,
        r#"(?i)^[\w, \t\r\n"'`\[\].\\]{0,1000}\)BLANKvaluesBLANK"#,
        concat!(
            r"^BLANK(?:[NEnex]?(?:\\+'((?:[^'\\]|'')*)\\+'|'((?:[^'\\]|''|\\+[^\\])*)'",
            r#"|\\+"([^"\\]*)\\+"|"((?:[^"\\]|""|\\+[^\\])*)")|[^,()']+(?:\((?:[^()]|\([^()]*\))*\))?)BLANK([,)])BLANK,?BLANK"#
        ),
    ]
    .map(|pattern| expression(&pattern.replace("BLANK", r"(?:\s|\\+[nrt])*")))
});

/// Returns the values of the column whose name is between `start` and `end`, the last one first.
pub(super) fn values(view: &View<'_>, start: usize, end: usize) -> Option<Vec<Secret>> {
    let [before, between, value] = &*STATEMENT;
    let column = before.captures(view.before(start))?[1].split(|&byte| byte == b',').count() - 1;
    let mut at = end + between.find(view.rest(end))?.len();
    let mut found = Vec::new();
    for _ in 0..MAX_ROWS {
        if view.byte(at) != Some(b'(') {
            break;
        }
        at += 1;
        for place in 0.. {
            let read = value.captures(view.rest(at))?;
            if let Some(quoted) = (1..5).find_map(|group| read.get(group)).filter(|_| place == column) {
                let text = quoted.as_bytes();
                let is_secret = text.len() >= MIN_BYTES && !is_placeholder(text);
                if is_secret && (is_mixed(text) || !text.contains(&b' ')) {
                    let (start, end) = (at + quoted.start(), at + quoted.end());
                    found.push(Secret { rule: "password", start, end, belongs: None });
                }
            }
            at += read[0].len();
            if &read[5] == b")" {
                break;
            }
        }
        view.byte(at);
    }
    found.reverse();
    Some(found)
}
