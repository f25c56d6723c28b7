//! An agent's words in Markdown as markup of ours: tags of theirs stay text, and nothing is loaded.

use pulldown_cmark::html::push_html;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::html_escape::escape;

/// Deeper lists and quotes are shown without further indentation.
const DEEPEST: usize = 12;

/// The markup of `text`. Every element in it is one of ours without attributes, but for links to the web.
pub fn rich(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut depth, mut is_web) = (0_usize, false);
    let events = Parser::new_ext(text, options).filter_map(|event| {
        depth += usize::from(matches!(event, Event::Start(_)));
        let is_deep = depth > DEEPEST;
        depth -= usize::from(matches!(event, Event::End(_)));
        Some(match event {
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => markup(escape(&text)),
            Event::Code(text) => markup(format!("<code>{}</code>", escape(&text))),
            Event::TaskListMarker(is_done) => markup(if is_done { "☑ " } else { "☐ " }.to_owned()),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let address = web(&dest_url);
                is_web = address.is_some();
                markup(address.map_or_else(
                    || shown(&dest_url),
                    |address| format!("<a rel=\"noreferrer noopener nofollow\" href=\"{address}\">"),
                ))
            }
            // Never loaded: its description stays, and where it is.
            Event::Start(Tag::Image { dest_url, .. }) => markup(shown(&dest_url)),
            Event::End(TagEnd::Link) if is_web => markup("</a>".to_owned()),
            Event::End(TagEnd::Link | TagEnd::Image) => return None,
            Event::Start(_) | Event::End(_) if is_deep => return None,
            // The outline of the page is ours.
            Event::Start(Tag::Heading { .. }) => markup("<p><strong>".to_owned()),
            Event::End(TagEnd::Heading(_)) => markup("</strong></p>".to_owned()),
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            Event::Start(Tag::CodeBlock(_)) => Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)),
            Event::Start(Tag::Table(_)) => Event::Start(Tag::Table(Vec::new())),
            other => other,
        })
    });
    let mut html = String::new();
    push_html(&mut html, events);
    html
}

fn markup(html: String) -> Event<'static> {
    Event::InlineHtml(html.into())
}

/// An address as text, in front of the words that it is called by.
fn shown(address: &str) -> String {
    format!("<code>{}</code> ", escape(&address.chars().take(200).collect::<String>()))
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
            ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
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
            ("```html\n</textarea>\n```", "<pre><code>&lt;/textarea&gt;</code></pre>"),
            ("2. two", "<ol start=\"2\"><li>two</li></ol>"),
            (
                "|a|\n|:-|\n|b|",
                "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>",
            ),
        ] {
            assert_eq!(rich(text).replace('\n', ""), expected, "{text}");
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
            let ours = ["p", "strong", "em", "del", "code", "pre", "ul", "ol", "li", "a", "br", "hr", "table", "thead",
                        "tbody", "tr", "th", "td", "blockquote"];
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
