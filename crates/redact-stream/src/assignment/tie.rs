//! The way from a name to its value: what a language, a file, a program or a protocol puts between them.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet, RegexSetBuilder};

use crate::expression::{expression, matchers};
use crate::view::View;

use super::value::Tie;

/// A quote, however often it is escaped, or as HTML spells it; what may end a name, as in `env["NAME"]`; spaces; white space with
/// commas, whose line ends may be escaped; what ties a name; and the end of a line.
const PARTS: [(&str, &str); 6] = [
    ("QUOTE", r#"(?:\\*["'`]|&(?:quot|apos|#34|#39|#x22|#x27);)"#),
    ("END", r"(?:QUOTE\]?)?"),
    ("GAP", r"[ \t]*"),
    ("BLANK", r"(?:[\s,]|\\+[nrt])*"),
    ("SIGN", r"(?::=|\?=|=>|=|%3[DA]|\\u003d)"),
    ("EOL", r"[ \r]{0,4}(?:\n|\\+n)"),
];

/// What the value of a secret is called in an object of its own, `{"client_secret": {"type": "text", "value": "..."}}`, or in the
/// line below its name.
const NESTED: &str = concat!(
    r#"(?:\{(?:BLANKQUOTE?[\w-]+QUOTE?GAP[:=]GAP(?:\\*"[^"\n]*"|\\*'[^'\n]*'|[^,}\n\\"']*)){0,5}?BLANK"#,
    r"|(?:[\r\n]|\\+[nrt])BLANK )QUOTE?(?:value|default|plain[Tt]ext|secretValue|stringValue|S)QUOTE?GAP[:=]GAP",
);

/// Each tie, what must stand in front of the end of the name, the name included, and what follows it. The value is behind that, or
/// begins with the group. The first that is there counts; `None` ties nothing.
const TIES: &[(Option<Tie>, &str, &str)] = &[
    (Some(Tie::Tight), "", "^::"),
    (Some(Tie::Block), "", r"^END=\$\(cat <<[-~]?QUOTE?\w+QUOTE?EOL[ \t]*"),
    (None, "", "^ENDGAP(?:==|=~|::)"),
    (Some(Tie::Block), "", r"^ENDGAP:GAP[|>][-+0-9]*EOL +"),
    (Some(Tie::Loose), "", "^ENDGAP(?:SIGN|:)GAPNESTED"),
    // As Rust, Scala and Haskell print what may be missing.
    (Some(Tie::Loose), "", r"^ENDGAP(?:SIGN|:)GAP(?:Some\(|Just )GAP(QUOTE)"),
    (Some(Tie::Loose), "", r"^ENDGAP:GAP[\w&:'<>\[\]?.]{1,48}GAP=GAP(QUOTE)"),
    (Some(Tie::Tight), "", r"^ENDSIGN([^ \t]|\z)"),
    (Some(Tie::Loose), "", "^ENDGAP(?:SIGN|:)GAP"),
    (Some(Tie::Element), r"<[\w-]+$", "^ENDGAP>"),
    // `variable "db_password" {`
    (Some(Tie::Loose), "", r"^QUOTE\]?GAPNESTED"),
    (Some(Tie::Loose), r"(?:^|[^\w-])--[\w-]+$", r"^END[ \t]+"),
    // A line of `.netrc`.
    (Some(Tie::Loose), r"(?s)machine .*login ", r"^END[ \t]+"),
    (Some(Tie::Block), "", r"^END<<[-~]?QUOTE?\w+QUOTE?EOL[ \t]*"),
    (Some(Tie::Block), r"[ .][\w-]+$", r"^END[ \t]+<<[-~]?QUOTE?\w+QUOTE?EOL[ \t]*"),
    (Some(Tie::Tight), r"##vso\[task\.setvariable ", r"^ENDGAP(?:;[^\]\x00-\x1f]*)?\]"),
    // Functions that take a name and its value: `define('DB_PASSWORD', '...')`.
    (
        Some(Tie::Loose),
        concat!(
            r"(?i)(?:^|[^\w-]|\\[nrt])(?:define|put|set|setenv|set_var|putenv|setItem|setProperty|append|addEnv|withEnv|setHeader|addHeader|header|",
            r#"setRequestHeader|environment|env|ConvertTo|add)\([\\"'`]*[\w.-]+$"#
        ),
        "^QUOTEGAP,GAP(QUOTE)",
    ),
    (Some(Tie::Tight), "form-data; name=", r"^QUOTE(?:[\r\n]{2,4}|\\r\\n\\r\\n|\\n\\n)"),
    // Words after which a name and its value follow with a space between them.
    (
        Some(Tie::Tight),
        concat!(
            r"(?i)(?:^|[^\w-]|\\[nrt])(?:env|arg|setenv|fastcgi_param|set -g?u?x|config set|configure set|config --global|secret put)",
            r"[ \t]+(?:[\w.]*\.)?[\w-]+$"
        ),
        r"^END[ \t]+",
    ),
    // `ALTER ROLE me WITH PASSWORD '...'`
    (
        Some(Tie::Loose),
        r"(?i)(?:(?:user|role|login|password).*(?:^|[^\w-])(?:with|encrypted|set|login|=)|(?:^|[^\w-])login)[ \t]+[\w-]+$",
        r"^END[ \t]+(\\*')",
    ),
    // The name is a value itself: `{"name": "API_TOKEN", "value": "..."}`.
    (Some(Tie::Loose), "", r"^END,?(?:\s*(?:\\[nrt])?){3}QUOTE?valueQUOTE?GAP[:=]GAP"),
];

/// What follows the name, of all ties at once, and what stands in front of and behind the name for each.
static EXPRESSIONS: LazyLock<(RegexSet, Vec<[Regex; 2]>)> = LazyLock::new(|| {
    let set = RegexSetBuilder::new(TIES.iter().map(|(_, _, after)| whole(after))).unicode(false).build();
    let each = TIES.iter().map(|(_, before, after)| [before, after].map(|text| expression(&whole(text))));
    // A test makes all of them.
    (set.unwrap_or_else(|error| panic!("{error}")), each.collect())
});

/// Returns the pattern with its parts written out.
fn whole(pattern: &str) -> String {
    let pattern = pattern.replace("NESTED", NESTED);
    PARTS.iter().rev().fold(pattern, |pattern, (name, part)| pattern.replace(name, part))
}

matchers! {
    /// `::set-output name=`, before a name that `::` ties to its value; elsewhere that is the path of a type.
    fn is_about_outputs = "::(?:set-output|save-state|set-env) ";

    /// `-passin pass:...`, as openssl takes it.
    pub(super) fn is_pass_argument = r#"-(?:passin|passout|pass|password|srcstorepass)(?:",)?[ \t]*["']?[ \t]*$"#;
}

/// Goes over what ties a name to its value: `=`, `: `, `" => `.
pub(super) fn tie(view: &View<'_>, name_end: usize) -> Option<(Tie, usize)> {
    // Most names are words of a text.
    view.byte(name_end).filter(|byte| b" \t\r\n\x0c\\\"'`:?=%<>;],&".contains(byte))?;
    let rest = view.rest(name_end);
    if rest.starts_with(b"::") && !is_about_outputs(view.before(name_end)) {
        return None;
    }
    let (set, expressions) = &*EXPRESSIONS;
    let row =
        set.matches(rest).into_iter().find(|row| expressions[*row][0].is_match(view.before(name_end)))?;
    let found = expressions[row][1].captures(rest)?;
    let at = name_end + found.get(1).map_or(found[0].len(), |value| value.start());
    view.byte(at);
    Some((TIES[row].0?, at))
}
