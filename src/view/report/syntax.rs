//! What the words of a line of code are, by the extension of its file: good enough to read a diff by.

use std::ops::Range;

use crate::view::changed_lines::is_word;

/// What a part of a line is; the rest is plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Comment,
    Keyword,
    Number,
    Quoted,
}

impl Class {
    /// The class in the style of the page.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "c",
            Self::Keyword => "k",
            Self::Number => "n",
            Self::Quoted => "s",
        }
    }
}

/// How a language writes comments, texts and keywords.
struct Language {
    /// Or whole names of files.
    extensions: &'static [&'static str],
    /// Begin comments that end with the line.
    comments: &'static [&'static str],
    /// What may go over several lines: begin, end and class.
    blocks: &'static [(&'static str, &'static str, Class)],
    /// Around texts that end in their line.
    quotes: &'static str,
    /// With blanks between them.
    keywords: &'static str,
}

const C_COMMENT: (&str, &str, Class) = ("/*", "*/", Class::Comment);
const MARKUP_COMMENT: (&str, &str, Class) = ("<!--", "-->", Class::Comment);
const TEMPLATE: (&str, &str, Class) = ("`", "`", Class::Quoted);

/// The first that has the extension is taken.
const LANGUAGES: &[Language] = &[
    Language {
        extensions: &["rs"],
        comments: &["//"],
        blocks: &[C_COMMENT],
        quotes: "\"",
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while",
    },
    Language {
        extensions: &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"],
        comments: &["//"],
        blocks: &[C_COMMENT, MARKUP_COMMENT, TEMPLATE],
        quotes: "\"'",
        keywords: "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface let namespace never new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined unknown var void while with yield",
    },
    Language {
        extensions: &["py", "pyi"],
        comments: &["#"],
        blocks: &[("\"\"\"", "\"\"\"", Class::Quoted), ("'''", "'''", Class::Quoted)],
        quotes: "\"'",
        keywords: "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
    },
    Language {
        extensions: &["go"],
        comments: &["//"],
        blocks: &[C_COMMENT, TEMPLATE],
        quotes: "\"'",
        keywords: "any bool break byte case chan const continue default defer else error fallthrough false for func go goto if import int interface map nil package range return rune select string struct switch true type var",
    },
    Language {
        extensions: &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "m", "mm"],
        comments: &["//"],
        blocks: &[C_COMMENT],
        quotes: "\"'",
        keywords: "auto bool break case catch char class const constexpr continue default define delete do double else endif enum explicit extern false float for friend if ifdef ifndef include inline int long namespace new nullptr operator private protected public return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while",
    },
    Language {
        extensions: &["java", "kt", "kts", "scala", "cs", "swift", "dart", "groovy", "gradle"],
        comments: &["//"],
        blocks: &[C_COMMENT, ("\"\"\"", "\"\"\"", Class::Quoted)],
        quotes: "\"'",
        keywords: "abstract as async await bool boolean break byte case catch char class companion const continue data def default defer do double else enum extends extension false final finally float for foreach fun func get guard if implements import in init inline int interface internal is let lock long namespace new nil null object open out override package private protected protocol public readonly record ref required return sealed self set short static string struct super suspend switch this throw throws trait true try typealias using val var virtual void when where while with yield",
    },
    Language {
        extensions: &["php"],
        comments: &["//", "#"],
        blocks: &[C_COMMENT],
        quotes: "\"'",
        keywords: "abstract array as bool break case catch class const continue default do echo else elseif extends false final finally fn for foreach function if implements int interface match namespace new null private protected public readonly require return self static string switch this throw trait true try use void while yield",
    },
    Language {
        extensions: &["rb", "ex", "exs", "cr", "Rakefile", "Gemfile"],
        comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "alias and begin break case class def defmodule defp do else elsif end ensure false fn for if import in include module next nil not or raise redo require rescue return self super then true unless until use when while with yield",
    },
    Language {
        extensions: &["sh", "bash", "zsh", "fish", "Makefile", "mk", "just", "justfile", "Dockerfile"],
        comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM RUN USER WORKDIR break case continue do done elif else end esac exit export fi for function if in local readonly return set shift then trap until while",
    },
    Language {
        extensions: &[
            "yml",
            "yaml",
            "toml",
            "tf",
            "hcl",
            "conf",
            "cfg",
            "properties",
            "env",
            "gitignore",
            "nix",
            "r",
            "pl",
        ],
        comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "false null true",
    },
    Language { extensions: &["json"], comments: &[], blocks: &[], quotes: "\"", keywords: "false null true" },
    Language {
        extensions: &["css", "scss", "less"],
        comments: &[],
        blocks: &[C_COMMENT],
        quotes: "\"'",
        keywords: "",
    },
    Language {
        extensions: &["html", "htm", "xml", "svg", "xhtml"],
        comments: &[],
        blocks: &[MARKUP_COMMENT],
        quotes: "\"",
        keywords: "",
    },
    Language {
        extensions: &["sql", "lua", "hs", "elm"],
        comments: &["--"],
        blocks: &[C_COMMENT],
        quotes: "\"'",
        keywords: "ADD ALTER AND AS ASC BEGIN BY CASE CASCADE CHECK COMMIT CONSTRAINT CREATE DEFAULT DELETE DESC DISTINCT DROP ELSE END EXISTS FOREIGN FROM GROUP HAVING IF IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIMIT NOT NULL ON OR ORDER PRIMARY REFERENCES RETURNING ROLLBACK SELECT SET TABLE THEN UNION UNIQUE UPDATE USING VALUES VIEW WHEN WHERE WITH add alter and as asc begin by case cascade check class commit constraint create data default delete desc distinct do drop else elseif end exists false for foreign from function group having if import in index inner insert instance into is join key left let limit local module nil not null of on or order primary references repeat return returning rollback select set table then true type union unique until update using values view when where while with",
    },
];

/// Reads the lines of a file one after the other.
#[derive(Clone, Copy, Default)]
pub struct Lexer {
    language: Option<&'static Language>,
    /// The end and the class of what an earlier line began.
    open: Option<(&'static str, Class)>,
}

impl Lexer {
    /// One that finds nothing in a file of an unknown kind.
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        let extension = name.rsplit('.').next().unwrap_or_default();
        let language = LANGUAGES.iter().find(|language| language.extensions.contains(&extension));
        Self { language, open: None }
    }

    /// The same before any line.
    pub fn anew(self) -> Self {
        Self { open: None, ..self }
    }

    /// What is not plain in the next line, in its order.
    pub fn line(&mut self, line: &str) -> Vec<(Range<usize>, Class)> {
        let mut found = Vec::new();
        let Some(language) = self.language else { return found };
        let mut at = 0;
        while at < line.len() {
            let (length, class) = match self.open.take() {
                Some((end, class)) => (self.until(end, class, &line[at..], 0), Some(class)),
                None => self.token(language, line, at),
            };
            found.extend(class.map(|class| (at..at + length, class)));
            at += length;
        }
        found
    }

    /// The length of a text up to the end of a block, which may be in a later line.
    fn until(&mut self, end: &'static str, class: Class, rest: &str, from: usize) -> usize {
        let length = rest[from..].find(end).map(|place| from + place + end.len());
        if length.is_none() {
            self.open = Some((end, class));
        }
        length.unwrap_or(rest.len())
    }

    /// The length of what begins at a place in a line, and what it is.
    fn token(&mut self, language: &Language, line: &str, at: usize) -> (usize, Option<Class>) {
        let rest = &line[at..];
        let Some(first) = rest.chars().next() else { return (0, None) };
        let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        if is_word(first) {
            let length = run(is_word);
            let is_keyword = || language.keywords.split(' ').any(|keyword| keyword == &rest[..length]);
            let class = if first.is_ascii_digit() { Some(Class::Number) } else { None };
            return (length, class.or_else(|| is_keyword().then_some(Class::Keyword)));
        }
        if first == ' ' {
            return (run(|c| c == ' '), None);
        }
        // `$#` and `a#b` are none, nor is the `*` that a line of a longer comment begins with.
        let is_first = line[..at].chars().next_back().is_none_or(char::is_whitespace);
        let is_comment = |sign: &&&str| rest.starts_with(**sign) && (is_first || **sign != "#");
        let is_inner = line[..at].trim_start().is_empty()
            && language.blocks.contains(&C_COMMENT)
            && (rest.starts_with("* ") || rest == "*");
        if is_inner || language.comments.iter().find(is_comment).is_some() {
            return (rest.len(), Some(Class::Comment));
        }
        if let Some((begin, end, class)) = language.blocks.iter().find(|block| rest.starts_with(block.0)) {
            return (self.until(end, *class, rest, begin.len()), Some(*class));
        }
        let length = language.quotes.contains(first).then(|| quoted(rest, first)).flatten();
        length.map_or((first.len_utf8(), None), |length| (length, Some(Class::Quoted)))
    }
}

/// The length of a text with its quotes; `None` if its end is not in the line.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map(|(place, _)| place + quote.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `c[// x]`: what is not plain, line by line.
    fn read(path: &str, lines: &[&str]) -> String {
        let mut lexer = Lexer::of(path);
        let lines = lines.iter().map(|line| {
            let found = lexer.line(line);
            let found =
                found.iter().map(|(range, class)| format!("{}[{}]", class.as_str(), &line[range.clone()]));
            found.collect::<Vec<_>>().join(" ")
        });
        lines.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn what_words_are_depends_on_the_kind_of_file() {
        for (path, line, expected) in [
            ("a/x.rs", "pub fn a<'a>(x: &'a str) // b", "k[pub] k[fn] c[// b]"),
            ("x.rs", r#"let s = "a\"b"; 0x1f"#, r#"k[let] s["a\"b"] n[0x1f]"#),
            ("x.ts", "const a = 'it' + `t` // \"", "k[const] s['it'] s[`t`] c[// \"]"),
            ("x.py", "def f(): return '#' # don't", "k[def] k[return] s['#'] c[# don't]"),
            ("x.sh", "if [ $# -gt 1 ]; then echo a#b # c", "k[if] n[1] k[then] c[# c]"),
            ("Makefile", "# all", "c[# all]"),
            ("x.json", r#"{"a": [1, null]}"#, r#"s["a"] n[1] k[null]"#),
            ("x.css", "a{width:3px} /* b */", "n[3px] c[/* b */]"),
            ("x.sql", "SELECT 'a' -- b", "k[SELECT] s['a'] c[-- b]"),
            ("x.js", " * of a longer one", "c[* of a longer one]"),
            ("x.js", "a = 'not closed", ""),
            ("x.md", "if 1 'a'", ""),
            ("", "fn", ""),
        ] {
            assert_eq!(read(path, &[line]), expected, "{path}: {line}");
        }
    }

    #[test]
    fn comments_and_texts_may_go_over_lines() {
        assert_eq!(read("x.c", &["a /* b", "int", "c */ int"]), "c[/* b] | c[int] | c[c */] k[int]");
        assert_eq!(read("x.py", &["\"\"\"A", "def\"\"\" + 1"]), "s[\"\"\"A] | s[def\"\"\"] n[1]");
    }
}
