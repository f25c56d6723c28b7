//! Where Markdown begins: after a byte order mark and YAML front matter.

const BOM: char = '\u{feff}';

/// Returns the byte at which the Markdown of `source` begins.
///
/// Plain Markdown reads front matter as a heading and lists in it as tasks. The parser's own option for it
/// takes such blocks anywhere in a file, so that tasks between two rules would vanish.
pub(super) fn end(source: &str) -> usize {
    let start = if source.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    let mut rest = &source[start..];
    if next_line(&mut rest).is_none_or(|first| first.trim_end() != "---") {
        return start;
    }
    let mut has_key = false;
    let mut takes_list = false;
    while let Some(line) = next_line(&mut rest) {
        let line = line.trim_end();
        match line {
            "---" | "..." => return if has_key { source.len() - rest.len() } else { start },
            "" if !has_key => return start,
            "" => {}
            _ if line.starts_with([' ', '\t', '#', '}', ']']) => {}
            _ if line == "-" || line.starts_with("- ") => {
                // YAML knows a list at the margin only below a key without a value.
                if !takes_list {
                    return start;
                }
            }
            _ => match value_of_key(line) {
                Some(value) => {
                    has_key = true;
                    takes_list = value.is_empty() || value.starts_with('#');
                }
                None => return start,
            },
        }
    }
    start
}

/// Returns what follows `key:`, trimmed.
fn value_of_key(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.trim().is_empty() && !key.starts_with(['*', '>', '|', '[', '<']);
    (is_key && (value.is_empty() || value.starts_with([' ', '\t']))).then(|| value.trim())
}

/// Takes the next line, without its end: LF, CRLF or a lone CR.
fn next_line<'a>(rest: &mut &'a str) -> Option<&'a str> {
    if rest.is_empty() {
        return None;
    }
    let (line, tail) = rest.split_at(rest.find(['\n', '\r']).unwrap_or(rest.len()));
    *rest = tail.strip_prefix("\r\n").or_else(|| tail.strip_prefix(['\n', '\r'])).unwrap_or(tail);
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(source: &str, rest: &str) {
        assert_eq!(&source[end(source)..], rest, "{source:?}");
    }

    #[test]
    fn front_matter_is_cut_at_the_top_only() {
        case("---\ndescription: \"x\"\n---\n# Tasks\n", "# Tasks\n");
        case("---\r\na: b\r\n---\r\n# Tasks\r\n", "# Tasks\r\n");
        case("---\ra: b\r---\r# Tasks", "# Tasks");
        case("---\ntasks:\n- [ ] a\n- [x] b\n...\nrest", "rest");
        case("---\n# a comment\na:\n  b\n\nc: d\n---", "");
        case("# Tasks\n---\na: b\n---\n", "# Tasks\n---\na: b\n---\n");
    }

    #[test]
    fn a_rule_at_the_top_is_no_front_matter() {
        for source in [
            "---\n\n# Tasks\n- [ ] T001 a\n\n---\n",
            "---\n# Tasks\n- [ ] T001 a\n---\n",
            "---\n# Tasks\nStatus: draft\n- [ ] T001 a: b\n---\n",
            "---\n- [ ] T001 a: b\n---\n",
            "---\na: b\n",
            "---",
            "",
        ] {
            case(source, source);
        }
    }

    #[test]
    fn a_byte_order_mark_is_stepped_over() {
        case("\u{feff}- [ ] a", "- [ ] a");
        case("\u{feff}---\na: b\n---\n- [ ] a", "- [ ] a");
    }
}
