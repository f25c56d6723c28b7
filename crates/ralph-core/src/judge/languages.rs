//! How tests are defined, skipped and focused: a row for each family of languages. Patterns are read on masked source.

use std::sync::LazyLock;

use regex::Regex;

use super::mask::Syntax;
use super::paths::pattern;

const SLASHES: Syntax = Syntax {
    line_comment: "//",
    has_block_comments: true,
    long_quotes: &["\"\"\""],
    quotes: "'\"",
    is_rust: false,
    has_regexes: false,
};
const SCRIPT: Syntax = Syntax { long_quotes: &["`"], has_regexes: true, ..SLASHES };
const GO: Syntax = Syntax { long_quotes: &["`"], ..SLASHES };
const RUST: Syntax = Syntax { long_quotes: &["\""], quotes: "", is_rust: true, ..SLASHES };
const HASHES: Syntax =
    Syntax { line_comment: "#", has_block_comments: false, long_quotes: &["\"\"\"", "'''"], ..SLASHES };

/// Patterns of a family. Many fields: a row of a table.
struct Row {
    extensions: &'static [&'static str],
    syntax: Syntax,
    /// Groups: `name` of a test, `group` of a class of tests, or `word` of a call whose first argument is the title.
    definition: &'static str,
    /// What a line of attributes above a definition begins with.
    attribute: &'static str,
    /// What the attributes or the definition of a test named by `name` must have.
    required: &'static str,
    /// Behind what the title's line is no longer about the test as a whole.
    header_end: &'static str,
    /// Of attributes, definition and header: skipped in any case.
    skip: &'static str,
    /// Skipped under a condition.
    condition: &'static str,
    /// Begins a statement that skips the test which runs it.
    statement: &'static str,
    focus: &'static str,
    /// Skips all tests of a file.
    file_skip: &'static str,
    /// Counted if they are removed; other languages are not read well enough.
    assertion: Option<&'static str>,
}

/// Matches nothing, also as what a line begins with.
const NONE: &str = r"\z\w";

const ROWS: &[Row] = &[
    Row {
        extensions: &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts"],
        syntax: SCRIPT,
        definition: r"(?:^|[^\w.$])(?P<word>(?:[xf]?(?:it|test|describe|context|specify)|suite|bench|Deno\.test)(?:\s*\.\s*(?:skip|only|todo|fails|failing|fail|fixme|ignore|concurrent|sequential|shuffle|serial|parallel|each|for|skipIf|runIf|todoIf|if|describe)\b)*)\s*[(`<]",
        attribute: NONE,
        required: "",
        header_end: r"=>|\bfunction\b|\bfn\b|;",
        skip: r"\bx(?:it|test|describe|context|specify)\b|\.\s*(?:skip|todo|fixme|fails|failing|fail|ignore)\b|\b(?:skip|todo|ignore|fails|expectFailure)\s*:\s*(?:true\b|['\x22`])|\.skipIf\(\s*true\b|\.runIf\(\s*false\b",
        condition: r"\.\s*(?:skipIf|runIf|todoIf|if)\b|\b(?:skip|todo|ignore)\s*:",
        statement: r"(?:return\s+)?(?:(?:this|t|ctx|context|test)\.(?:skip|todo|fixme|fail)\(\s*(?:true\b|\)|['\x22`]))",
        focus: r"\bf(?:it|test|describe|context|specify)\b|\b[\w.]+\.only\b|\bonly\s*:\s*true\b",
        file_skip: NONE,
        assertion: Some(
            r"\bexpect\w*\s*\(|\bassert\w*(?:\.\w+)*\s*\(|\.should\b|\bt\.(?:is|not|deepEqual|equal|ok|true|false|throws\w*|truthy|falsy|like|regex|pass)\(",
        ),
    },
    Row {
        extensions: &["py"],
        syntax: HASHES,
        definition: r"(?m)^[ \t]*(?:async[ \t]+)?(?:def[ \t]+(?P<name>test\w*)|class[ \t]+(?P<group>\w+))",
        attribute: "@",
        required: "",
        header_end: r"\n",
        skip: r"(?m)^[ \t]*@(?:[\w.]+\.)?(?:skip\b|expectedFailure\b|xfail[ \t]*(?:$|\(\s*(?:reason|strict|raises|run|\)))|skip[iI]f\(\s*(?:True|1)\b|skipUnless\(\s*(?:False|0)\b)",
        condition: r"(?m)^[ \t]*@(?:[\w.]+\.)?(?:skip|xfail)",
        statement: r"pytest\.(?:skip|xfail)\(|self\.skipTest\(|raise\s+(?:unittest\.)?SkipTest\b",
        focus: NONE,
        file_skip: r"(?m)^pytestmark\s*=\s*\[?\s*pytest\.mark\.skip\b|^pytest\.skip\([^)\n]*allow_module_level",
        assertion: Some(r"\bassert\b|\.assert\w+\(|\bpytest\.raises\b"),
    },
    Row {
        extensions: &["rs"],
        syntax: RUST,
        definition: r"\bfn\s+(?P<name>\w+)",
        attribute: "#[",
        required: r"#\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b",
        header_end: r"\n",
        skip: r"#\[\s*(?:ignore|should_panic)\b",
        condition: r"\bcfg_attr\b[^\]]*\bignore\b",
        statement: NONE,
        focus: NONE,
        file_skip: NONE,
        assertion: Some(r"\b\w*assert\w*!"),
    },
    Row {
        extensions: &["go"],
        syntax: GO,
        definition: r"(?m)^func\s+(?:\([^)]*\)\s*)?(?P<name>(?:Test|Fuzz|Example)\w*)\s*\(|\b(?P<word>t\.Run|[FPX]?(?:It|Describe|Context|When|Specify|DescribeTable|Entry))\s*\(",
        attribute: NONE,
        required: "",
        header_end: r"\bfunc\b|\n",
        skip: r"\b[PX](?:It|Describe|Context|When|Specify|DescribeTable|Entry)\b",
        condition: NONE,
        statement: r"\w+\.Skip(?:f|Now)?\(",
        focus: r"\bF(?:It|Describe|Context|When|Specify|DescribeTable|Entry)\b",
        file_skip: NONE,
        assertion: Some(r"\bt\.(?:Error|Fatal)f?\(|\b(?:require|assert)\.\w+\(|\bExpect\("),
    },
    Row {
        extensions: &["rb"],
        syntax: HASHES,
        definition: r"(?m)^[ \t]*(?:def[ \t]+(?P<name>test_\w+)|(?:RSpec\.)?(?P<word>[xf]?(?:it|specify|example|describe|context|feature|scenario)|test|should)[ \t]*[( ])",
        attribute: NONE,
        required: "",
        header_end: r"\bdo\b|\n",
        skip: r"\bx(?:it|specify|example|describe|context|feature|scenario)\b|\b(?:skip|pending):\s*(?:true\b|['\x22])|[,(]\s*:(?:skip|pending)\b",
        condition: r"\b(?:skip|pending|if|unless):",
        statement: r"(?:skip|pending)(?:\s*$|[ (]['\x22])",
        focus: r"\bf(?:it|specify|example|describe|context|feature|scenario)\b|\bfocus:\s*true\b|[,(]\s*:focus\b",
        file_skip: NONE,
        assertion: None,
    },
    Row {
        extensions: &["php"],
        syntax: Syntax { quotes: "'\"", long_quotes: &[], ..SLASHES },
        definition: r"\bfunction\s+(?P<name>test\w*)|(?:^|[^\w>$:])(?P<word>it|test|describe)\s*\(",
        attribute: "#[",
        required: "",
        header_end: r"\z",
        skip: r"(?m)^[ \t]*\}?\)?->(?:skip|todo)\(\s*(?:\)|['\x22])",
        condition: r"(?m)^[ \t]*\}?\)?->skip",
        statement: r"(?:\$this->|self::|static::)markTest(?:Skipped|Incomplete)\(",
        focus: r"->only\(\s*\)",
        file_skip: NONE,
        assertion: None,
    },
    Row {
        extensions: &["java", "kt", "kts", "scala", "groovy"],
        syntax: SLASHES,
        definition: r"\b(?:void|fun)\s+(?P<name>\w+|`[^`\n]*`)\s*\(|\bclass\s+(?P<group>\w+)",
        attribute: "@",
        required: r"@(?:\w*Test|TestFactory|TestTemplate|Property)\b",
        header_end: r"\n",
        skip: r"@(?:[\w.]+\.)?(?:Disabled|Ignore|ExpectedToFail)\b|\benabled\s*=\s*false\b|@Test\s*\([^)\n]*\bexpected(?:Exceptions)?\s*=",
        condition: r"@(?:Disabled|Enabled)\w+",
        statement: r"(?:Assum\w+\.)?assume(?:True\(\s*false|False\(\s*true)\b",
        focus: NONE,
        file_skip: NONE,
        assertion: None,
    },
    Row {
        extensions: &["cs"],
        syntax: SLASHES,
        definition: r"\b(?:void|Task(?:<\w+>)?)\s+(?P<name>\w+)\s*\(|\bclass\s+(?P<group>\w+)",
        attribute: "[",
        required: r"[\[,]\s*(?:Fact|Theory|Test|TestMethod|DataTestMethod|TestCase)\b",
        header_end: r"\n",
        skip: r"\bSkip\s*=\s*[@$]?\x22|[\[,]\s*(?:Ignore|Explicit|ExpectedException)\b",
        condition: r"\bSkip\w*\s*=",
        statement: r"Assert\.(?:Ignore|Inconclusive)\(",
        focus: NONE,
        file_skip: NONE,
        assertion: None,
    },
    Row {
        extensions: &["swift"],
        syntax: SLASHES,
        definition: r"\bfunc\s+(?P<name>\w+)|\b(?:class|struct)\s+(?P<group>\w+)",
        attribute: "@",
        required: r"@Test\b|\bfunc\s+test",
        header_end: r"\n",
        skip: r"\.disabled\(\s*(?:\)|\x22[^)]*\)$|\x22\s*\x22\s*\))",
        condition: r"\.(?:disabled|enabled)\(",
        statement: r"throw\s+XCTSkip\(|XCTExpectFailure\b|(?:await\s+)?withKnownIssue\b",
        focus: NONE,
        file_skip: NONE,
        assertion: None,
    },
    Row {
        extensions: &["ex", "exs"],
        syntax: HASHES,
        definition: r"(?m)^[ \t]*(?P<word>test|describe|property)[ \t]+",
        attribute: "@",
        required: "",
        header_end: r"\n",
        skip: r"@(?:describe)?tag\s+(?::skip\b|skip:\s*(?:true\b|\x22))",
        condition: r"@(?:describe)?tag\s+:?skip",
        statement: NONE,
        focus: NONE,
        file_skip: r"@moduletag\s+(?::skip\b|skip:\s*(?:true\b|\x22))",
        assertion: None,
    },
    Row {
        extensions: &["bats"],
        syntax: HASHES,
        definition: r"(?m)^(?P<word>@test)[ \t]+",
        attribute: NONE,
        required: "",
        header_end: r"\n",
        skip: NONE,
        condition: NONE,
        statement: r"skip(?:\s*$|\s+['\x22])",
        focus: NONE,
        file_skip: NONE,
        assertion: None,
    },
    Row {
        extensions: &["dart"],
        syntax: Syntax { long_quotes: &["\"\"\"", "'''"], ..SLASHES },
        definition: r"(?:^|[^\w.$])(?P<word>test|testWidgets|group)\s*\(",
        attribute: NONE,
        required: "",
        header_end: r"\z",
        skip: r"(?m)^[ \t]*\}?[ \t]*,?[ \t]*skip:\s*(?:true\b|['\x22])",
        condition: r"\bskip:",
        statement: r"markTestSkipped\(",
        focus: r"\bsolo:\s*true\b",
        file_skip: NONE,
        assertion: None,
    },
    Row {
        extensions: &["c", "cc", "cpp"],
        syntax: SLASHES,
        definition: r"(?m)^[ \t]*TEST(?:_[FP])?\s*\(\s*(?P<name>\w+\s*,\s*\w+)",
        attribute: NONE,
        required: "",
        header_end: r"\n",
        skip: r"\bDISABLED_",
        condition: NONE,
        statement: r"GTEST_SKIP\(",
        focus: NONE,
        file_skip: NONE,
        assertion: None,
    },
];

/// A family of languages, ready to read. Many fields: those of a row, compiled.
#[derive(Debug)]
pub(super) struct Language {
    extensions: &'static [&'static str],
    pub syntax: Syntax,
    pub definition: Regex,
    pub attribute: &'static str,
    pub required: Regex,
    pub header_end: Regex,
    pub skip: Regex,
    pub condition: Regex,
    /// At the start of a line.
    pub statement: Regex,
    /// Behind the brace or colon that begins a body on the line of the definition.
    pub first_statement: Regex,
    pub focus: Regex,
    pub file_skip: Regex,
    pub assertion: Option<Regex>,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let languages = ROWS.iter().map(|row| Language {
        extensions: row.extensions,
        syntax: row.syntax,
        definition: pattern(row.definition),
        attribute: row.attribute,
        required: pattern(row.required),
        header_end: pattern(row.header_end),
        skip: pattern(row.skip),
        condition: pattern(row.condition),
        statement: pattern(&format!(r"^[ \t]*(?:{})", row.statement)),
        first_statement: pattern(&format!(r"^[^\n{{]*[{{:][ \t]*(?:{})", row.statement)),
        focus: pattern(row.focus),
        file_skip: pattern(row.file_skip),
        assertion: row.assertion.map(pattern),
    });
    languages.collect()
});

/// Returns true if a marker makes a test pass where it fails: the counts show nothing of it.
pub(super) fn turns_round(marker: &str) -> bool {
    static TURNS: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)fail|should_panic|\bexpected|knownissue|^pending"));
    TURNS.is_match(marker)
}

/// Returns the line by which a compiler or runner leaves out a file: a build constraint of Go, `#![cfg(...)]` of Rust,
/// `__test__ = False` of Python.
pub(super) fn hidden_by<'s>(source: &'s str, language: &Language) -> Option<&'s str> {
    static LINE: LazyLock<[(&str, Regex); 3]> = LazyLock::new(|| {
        [
            ("go", r"(?m)^//\s*(?:go:build|\+build)\s.*$"),
            ("rs", r"(?m)^#!\[cfg\(.*$"),
            ("py", r"(?m)^__test__\s*=\s*False\b"),
        ]
        .map(|(extension, line)| (extension, pattern(line)))
    });
    let (_, line) = LINE.iter().find(|(extension, _)| language.extensions.contains(extension))?;
    line.find(source).map(|found| found.as_str())
}

/// Returns how often a source has what runs one test with several values.
pub(super) fn parameters(source: &str) -> usize {
    static PARAMETERS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?x)\bparametrize\b | \bsubTest\b | \.(?:each|for)\b\s*[(`\[] | \brstest\b | \btest_case\b
              | \#\[case\b | \bt\.Run\( | \bParameterizedTest\b | \bDescribeTable\b",
        )
    });
    PARAMETERS.find_iter(source).count()
}

/// Returns the language of a file by its name.
pub(super) fn language(path: &str) -> Option<&'static Language> {
    let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    LANGUAGES.iter().find(|language| language.extensions.contains(&extension))
}
