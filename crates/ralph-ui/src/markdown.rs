//! Markdown for a terminal: blocks by their layout, emphasis by colours where there are any.

use std::mem;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::style::{Paint, inert};

/// Deeper lists and quotes are shown without further indentation.
const MAX_DEPTH: usize = 12;

const BOLD: &str = "1";
const ITALIC: &str = "3";
const STRUCK: &str = "9";
const CODE: &str = "36";

/// The lines of `text`, without a line end behind the last. What a terminal would obey is shown, not obeyed.
pub fn render(text: &str, paint: Paint) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { paint, ..Writer::default() };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.out.truncate(writer.out.trim_end().len());
    writer.out
}

fn style(tag: TagEnd) -> Option<&'static str> {
    match tag {
        TagEnd::Heading(_) | TagEnd::Strong | TagEnd::TableHead => Some(BOLD),
        TagEnd::Emphasis => Some(ITALIC),
        TagEnd::Strikethrough => Some(STRUCK),
        _ => None,
    }
}

#[derive(Default)]
struct Writer {
    out: String,
    paint: Paint,
    /// What each line begins with, by the blocks that are open.
    indents: Vec<&'static str>,
    /// The next number of each list that is open, for those that have numbers.
    lists: Vec<Option<u64>>,
    /// What the next line begins with in place of its last indent.
    marker: Option<String>,
    /// The styles that are open.
    styles: Vec<&'static str>,
    /// Addresses of the links that are open.
    links: Vec<String>,
    /// True if the line has begun.
    is_in_line: bool,
    /// True if the row of a table has a cell.
    is_in_row: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => self.code(&text),
            Event::SoftBreak | Event::HardBreak => self.newline(),
            Event::Rule => {
                self.block();
                self.text("────────");
                self.newline();
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "[x] " } else { "[ ] " }),
            // No option asks for these.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        self.styles.extend(style(tag.to_end()));
        match tag {
            Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::HtmlBlock
            | Tag::Table(_)
            | Tag::FootnoteDefinition(_) => self.block(),
            Tag::BlockQuote(_) => {
                self.block();
                self.indents.push("│ ");
            }
            Tag::CodeBlock(_) => {
                self.block();
                self.indents.push("    ");
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::TableHead | Tag::TableRow => self.is_in_row = false,
            Tag::TableCell => {
                let separator = if mem::replace(&mut self.is_in_row, true) { " │ " } else { "" };
                self.text(separator);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if style(tag).is_some() {
            self.styles.pop();
        }
        match tag {
            TagEnd::Heading(_) | TagEnd::TableHead | TagEnd::Paragraph | TagEnd::TableRow => self.newline(),
            TagEnd::BlockQuote(_) | TagEnd::CodeBlock | TagEnd::Item => {
                // An item without a word has its mark all the same.
                if self.marker.is_some() {
                    self.prefix();
                }
                self.fresh_line();
                self.indents.pop();
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Link | TagEnd::Image => {
                let address = self.links.pop().unwrap_or_default();
                if !address.is_empty() && !self.out.ends_with(&inert(&address)) {
                    self.text(&format!(" ({address})"));
                }
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.fresh_line();
        let (marker, indent) = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                (format!("{}. ", *number - 1), "   ")
            }
            Some(None) | None => ("• ".to_owned(), "  "),
        };
        self.indents.push(indent);
        self.marker = Some(marker);
    }

    /// Begins a block: on a line of its own, behind an empty one where it is not the first of its item.
    fn block(&mut self) {
        self.fresh_line();
        if !self.out.is_empty() && self.marker.is_none() {
            let kept = self.indents.iter().filter(|indent| !indent.trim().is_empty());
            self.out.extend(kept.map(|indent| indent.trim_end()));
            self.newline();
        }
    }

    fn text(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.newline();
            }
            if !line.is_empty() {
                self.prefix();
                match self.paint {
                    Paint::Colour if !self.styles.is_empty() => {
                        self.out += &format!("\x1b[{}m{}\x1b[0m", self.styles.join(";"), inert(line));
                    }
                    Paint::Colour | Paint::Plain => self.out += &inert(line),
                }
            }
        }
    }

    fn code(&mut self, text: &str) {
        match self.paint {
            Paint::Plain => self.text(&format!("`{text}`")),
            Paint::Colour => {
                self.styles.push(CODE);
                self.text(text);
                self.styles.pop();
            }
        }
    }

    /// What a line begins with, where it has not begun yet.
    fn prefix(&mut self) {
        if mem::replace(&mut self.is_in_line, true) {
            return;
        }
        let kept = self.indents.len() - usize::from(self.marker.is_some());
        self.out.extend(self.indents.iter().take(kept.min(MAX_DEPTH)).copied());
        self.out.extend(self.marker.take());
    }

    fn fresh_line(&mut self) {
        if self.is_in_line {
            self.newline();
        }
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.is_in_line = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(text: &str, plain: &str) {
        assert_eq!(render(text, Paint::Plain), plain);
    }

    #[test]
    fn blocks_are_shown_by_their_layout() {
        case("# Title\n\nOne\ntwo.\n\n## More\nthree", "Title\n\nOne\ntwo.\n\nMore\n\nthree");
        case("- a\n- b\n  - c\n    d\n- e\n\nz", "• a\n• b\n  • c\n    d\n• e\n\nz");
        case("3. a\n4. b\n\n   more\n", "3. a\n4. b\n\n   more");
        case("x\n\n```sh\ncargo test\n\n  y\n```\nz", "x\n\n    cargo test\n\n      y\n\nz");
        case("> a\n> b\n>\n> c\n\nd", "│ a\n│ b\n│\n│ c\n\nd");
        case("- [x] a\n- [ ] b", "• [x] a\n• [ ] b");
        case("| a | b |\n|---|---|\n| 1 | 2 |\n", "a │ b\n1 │ 2");
        case("a\n\n---\n\nb", "a\n\n────────\n\nb");
        case("-\n- b", "• \n• b");
        case("", "");
    }

    #[test]
    fn words_are_styled_where_there_are_colours() {
        let text = "# Title\n**bold _both_** `code` ~~no~~ <b>x</b> [here](https://a.b) <https://c.d>";
        case(text, "Title\n\nbold both `code` no <b>x</b> here (https://a.b) https://c.d");
        assert_eq!(
            render("# Title\n**bold _both_** `code`", Paint::Colour),
            "\x1b[1mTitle\x1b[0m\n\n\x1b[1mbold \x1b[0m\x1b[1;3mboth\x1b[0m \x1b[36mcode\x1b[0m"
        );
    }

    #[test]
    fn nothing_in_it_reaches_the_terminal_as_a_command() {
        let hostile = "a\u{1b}[31m `b\u{9b}` \u{202e}\n\n    c\u{7}\n";
        let shown = render(hostile, Paint::Plain);
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}']), "{shown:?}");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "([#>*_`~|\\-\\[\\]()!<1. \\n]|[a-z\u{1b}]){0,200}") {
            let plain = render(&text, Paint::Plain);
            prop_assert!(!plain.contains('\x1b'));
            let coloured = render(&text, Paint::Colour);
            prop_assert_eq!(coloured.matches("\x1b[0m").count() * 2, coloured.matches('\x1b').count());
        }
    }
}
