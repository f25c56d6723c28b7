//! An agent's words in Markdown as markup of ours: tags of theirs stay text, and nothing is loaded.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::harmless::escape;

/// Deeper lists and quotes are shown without further indentation.
const DEEPEST: usize = 12;

/// The markup of `text`. Every element in it is one of ours without attributes, but for links to the web.
pub fn rich(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
    /// What closes each element that is open.
    open: Vec<&'static str>,
    is_head: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.out.push_str(&escape(&text));
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.wrapped("code", &text);
            }
            Event::FootnoteReference(name) => self.out.push_str(&escape(&format!("[^{name}]"))),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.out.push_str(if is_done { "☑ " } else { "☐ " }),
        }
    }

    fn wrapped(&mut self, name: &str, text: &str) {
        self.out.push_str(&format!("<{name}>{}</{name}>", escape(text)));
    }

    fn open(&mut self, start: &str, end: &'static str) {
        if self.open.len() < DEEPEST {
            self.out.push_str(start);
            self.open.push(end);
        } else {
            self.open.push("");
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open("<p>", "</p>"),
            // The outline of the page is ours.
            Tag::Heading { .. } => self.open("<p><strong>", "</strong></p>"),
            Tag::BlockQuote(_) => self.open("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.open("<pre><code>", "</code></pre>");
            }
            Tag::List(None) => self.open("<ul>", "</ul>"),
            Tag::List(Some(first)) => {
                let start = format!("<ol start=\"{}\">", first.min(1_000_000));
                self.open(&start, "</ol>");
            }
            Tag::Item => self.open("<li>", "</li>"),
            Tag::Emphasis => self.open("<em>", "</em>"),
            Tag::Strong => self.open("<strong>", "</strong>"),
            Tag::Strikethrough => self.open("<s>", "</s>"),
            Tag::Table(_) => self.open("<table>", "</table>"),
            Tag::TableHead => {
                self.is_head = true;
                self.open("<thead><tr>", "</tr></thead>");
            }
            Tag::TableRow => self.open("<tr>", "</tr>"),
            Tag::TableCell if self.is_head => self.open("<th scope=\"col\">", "</th>"),
            Tag::TableCell => self.open("<td>", "</td>"),
            Tag::Link { dest_url, .. } => match web(&dest_url) {
                Some(address) => {
                    let start = format!("<a rel=\"noreferrer noopener nofollow\" href=\"{address}\">");
                    self.open(&start, "</a>");
                }
                None => self.append_address(&dest_url),
            },
            // Never loaded: its description stays, and where it is.
            Tag::Image { dest_url, .. } => self.append_address(&dest_url),
            _ => self.open("", ""),
        }
    }

    /// An address as text, in front of the words that it is called by.
    fn append_address(&mut self, address: &str) {
        self.wrapped("code", &address.chars().take(200).collect::<String>());
        self.out.push(' ');
        self.open("", "");
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::TableHead {
            self.is_head = false;
        }
        self.out.push_str(self.open.pop().unwrap_or_default());
    }
}

/// An address of the web as it may stand in an attribute; none for all others.
fn web(address: &str) -> Option<String> {
    let lower: String = address.chars().take(8).collect::<String>().to_ascii_lowercase();
    let is_web = lower.starts_with("https://") || lower.starts_with("http://");
    let is_plain = address.chars().all(|c| !c.is_control() && !c.is_whitespace());
    (is_web && is_plain && address.len() < 2000).then(|| escape(address))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_become_markup_of_ours_and_tags_of_theirs_stay_text() {
        for (text, expected) in [
            ("a *b* `c`", "<p>a <em>b</em> <code>c</code></p>"),
            ("# Head", "<p><strong>Head</strong></p>"),
            ("1. one\n2. two", "<ol start=\"1\"><li>one</li><li>two</li></ol>"),
            ("- [x] yes", "<ul><li>☑ yes</li></ul>"),
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
            ("x <img src=a onerror=b>", "<p>x &lt;img src=a onerror=b&gt;</p>"),
            (
                "[a](https://x.org/?a=1&b)",
                "<p><a rel=\"noreferrer noopener nofollow\" href=\"https://x.org/?a=1&amp;b\">a</a></p>",
            ),
            ("[a](javascript:alert(1))", "<p><code>javascript:alert(1)</code> a</p>"),
            ("[a](JaVaScript:alert(1))", "<p><code>JaVaScript:alert(1)</code> a</p>"),
            ("[a](data:text/html,x)", "<p><code>data:text/html,x</code> a</p>"),
            ("![a](https://x.org/p.png)", "<p><code>https://x.org/p.png</code> a</p>"),
            ("```html\n</textarea>\n```", "<pre><code>&lt;/textarea&gt;\n</code></pre>"),
            (
                "|a|\n|-|\n|b|",
                "<table><thead><tr><th scope=\"col\">a</th></tr></thead><tr><td>b</td></tr></table>",
            ),
        ] {
            assert_eq!(rich(text).replace("\n</p>", "</p>"), expected, "{text}");
        }
    }

    #[test]
    fn what_is_nested_deeply_stays_bounded() {
        let html = rich(&format!("{}x", "> ".repeat(5000)));
        assert!(html.matches("<blockquote>").count() <= DEEPEST, "{html}");
        assert_eq!(html.matches("<blockquote>").count(), html.matches("</blockquote>").count());
    }

    proptest! {
        #[test]
        fn any_text_gives_elements_of_ours_alone(text in "(?s)([<>\"'()\\[\\]!*_`#|\\-: \n]|javascript:|https://|<a |<svg |on|[a-z&]){0,60}") {
            let html = rich(&text);
            let ours = ["p", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "a", "br", "hr", "table", "thead",
                        "tr", "th", "td", "blockquote"];
            for tag in html.split('<').skip(1) {
                let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
                prop_assert!(ours.contains(&name.as_str()), "{}", html);
            }
            for address in html.split("href=\"").skip(1) {
                prop_assert!(address.to_ascii_lowercase().starts_with("http"), "{}", html);
            }
        }
    }
}
