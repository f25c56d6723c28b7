//! Where the boxes of a Markdown file are. The one place that knows the Markdown parser.

use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::near_miss::{self, Prefix, Unrecognised};
use super::phase::is_bold_phase;
use super::ticks;

/// Maximum number of items of a list. More are the work of a loop that appends without end.
pub const MAX_ITEMS: usize = 100_000;

/// Longest heading that is kept, in characters: each task below it has it.
const MAX_HEADING_CHARS: usize = 1000;

/// A task-list item as it is in the file.
#[derive(Debug)]
pub(super) struct TaskBox {
    /// From 1.
    pub line: usize,
    /// Byte of `[` in the file.
    pub offset: usize,
    pub is_done: bool,
    /// The first paragraph after the box, on one line, as Markdown.
    pub text: String,
    /// The headings above, outermost first; and the same with their levels.
    pub headings: Arc<[String]>,
    pub heading_levels: Arc<[(u8, String)]>,
    /// A line in bold that does the work of a phase heading.
    pub bold_phase: Option<String>,
    /// How many task-list items this one is in.
    pub depth: usize,
    /// The nearest task-list item around it.
    pub parent: Option<usize>,
    /// Other lines of the item, without those of its sub-tasks.
    pub body: Vec<String>,
    /// True if it has code or a table.
    pub has_block: bool,
}

/// Reads `source`, a whole file; what is before `start` (a BOM, front matter) is left out. Returns its boxes, those that a person
/// would read as such and Markdown does not know, and its headings, each in the file's order.
pub(super) fn outline(source: &str, start: usize) -> (Vec<TaskBox>, Vec<Unrecognised>, Vec<String>) {
    let options = Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let normalized = ticks::normalized(source);
    let mut walk = Walk::new(&normalized, source);
    for (event, range) in Parser::new_ext(&normalized[start..], options).into_offset_iter() {
        walk.step(&event, range.start + start..range.end + start);
        if walk.boxes.len() > MAX_ITEMS {
            break;
        }
    }
    walk.end_run();
    (walk.boxes, walk.unrecognised, walk.all_headings)
}

/// A line of inline text.
#[derive(Debug)]
struct RunLine {
    range: Range<usize>,
    /// Where plain text begins, if nothing but emphasis is before it.
    text_at: Option<usize>,
    has_content: bool,
}

/// A list item that is open while we walk.
#[derive(Debug)]
struct Frame {
    /// The box that the item begins with.
    own: Option<usize>,
    /// True if its first text is still to come.
    is_fresh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Flow,
    Heading(u8),
    /// Code and tables: never the place of a task.
    Opaque,
}

#[derive(Debug)]
struct Walk<'a> {
    /// With every tick as Markdown knows it.
    source: &'a str,
    /// As it is in the file.
    written: &'a str,
    line_starts: Vec<usize>,
    block: Block,
    frames: Vec<Frame>,
    headings: Arc<[String]>,
    heading_levels: Arc<[(u8, String)]>,
    bold_phase: Option<String>,
    heading_text: String,
    /// The inline text since the last block boundary, and the HTML comments in it.
    lines: Vec<RunLine>,
    cuts: Vec<Range<usize>>,
    /// The box whose text comes next.
    pending: Option<usize>,
    needs_line: bool,
    boxes: Vec<TaskBox>,
    unrecognised: Vec<Unrecognised>,
    all_headings: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(source: &'a str, written: &'a str) -> Self {
        Self {
            source,
            written,
            line_starts: line_starts(source),
            block: Block::Flow,
            frames: Vec::new(),
            headings: Arc::default(),
            heading_levels: Arc::default(),
            bold_phase: None,
            heading_text: String::new(),
            lines: Vec::new(),
            cuts: Vec::new(),
            pending: None,
            needs_line: true,
            boxes: Vec::new(),
            unrecognised: Vec::new(),
            all_headings: Vec::new(),
        }
    }

    fn step(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::TaskListMarker(is_checked) => self.begin_box(range, *is_checked),
            Event::Text(text) => {
                self.heading(text);
                self.inline(range, Inline::Text);
            }
            Event::Code(text) => {
                self.heading(text);
                self.inline(range, Inline::Other);
            }
            Event::InlineHtml(html) => {
                if html.starts_with("<!--") {
                    self.cuts.push(range.clone());
                }
                self.inline(range, Inline::Other);
            }
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough) => {
                self.inline(range.start..range.start, Inline::Opening);
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => {
                self.inline(range.start..range.start, Inline::Other);
            }
            Event::End(
                TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image,
            ) => {
                self.inline(range, Inline::Other);
            }
            Event::SoftBreak | Event::HardBreak => {
                self.heading(" ");
                self.needs_line = true;
            }
            Event::Start(tag) => self.start_block(tag),
            Event::End(tag) => self.end_block(*tag),
            Event::Html(_)
            | Event::Rule
            | Event::FootnoteReference(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => self.end_run(),
        }
    }

    fn heading(&mut self, text: &str) {
        if let Block::Heading(_) = self.block {
            self.heading_text.push_str(text);
        }
    }

    fn inline(&mut self, range: Range<usize>, kind: Inline) {
        if self.needs_line {
            self.needs_line = false;
            self.lines.push(RunLine { range: range.start..range.end, text_at: None, has_content: false });
        }
        let Some(line) = self.lines.last_mut() else { return };
        line.range.end = line.range.end.max(range.end);
        match kind {
            Inline::Opening => {}
            Inline::Text if !line.has_content => {
                // The backslash of an escaped bracket belongs to no event.
                let is_escaped = self.source[..range.start].ends_with('\\');
                let at = range.start - usize::from(is_escaped);
                line.text_at = Some(at);
                line.range.start = line.range.start.min(at);
                line.has_content = true;
            }
            Inline::Text | Inline::Other => line.has_content = true,
        }
    }

    fn begin_box(&mut self, range: Range<usize>, is_done: bool) {
        self.end_run();
        let Some(within) = self.source[range.clone()].find('[') else { return };
        let offset = range.start + within;
        let parent = self.frames.iter().rev().find_map(|frame| frame.own);
        let index = self.boxes.len();
        self.boxes.push(TaskBox {
            line: self.line(offset),
            offset,
            is_done,
            text: String::new(),
            headings: Arc::clone(&self.headings),
            heading_levels: Arc::clone(&self.heading_levels),
            bold_phase: self.bold_phase.clone(),
            depth: self.frames.iter().filter(|frame| frame.own.is_some()).count(),
            parent,
            body: Vec::new(),
            has_block: false,
        });
        if let Some(frame) = self.frames.last_mut() {
            frame.own = Some(index);
            frame.is_fresh = false;
        }
        self.pending = Some(index);
    }

    fn start_block(&mut self, tag: &Tag<'_>) {
        self.end_run();
        match tag {
            Tag::Item => self.frames.push(Frame { own: None, is_fresh: true }),
            Tag::Heading { level, .. } => {
                self.heading_text.clear();
                self.block = Block::Heading(*level as u8);
            }
            Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => {
                self.block = Block::Opaque;
                let owner = self.frames.iter().rev().find_map(|frame| frame.own);
                if let Some(owner) = owner.filter(|_| !matches!(tag, Tag::HtmlBlock)) {
                    self.boxes[owner].has_block = true;
                }
            }
            _ => {}
        }
        if !matches!(tag, Tag::Paragraph) {
            self.pending = None;
        }
    }

    fn end_block(&mut self, tag: TagEnd) {
        self.end_run();
        match tag {
            TagEnd::Item => {
                self.frames.pop();
                self.pending = None;
            }
            TagEnd::Heading(level) => {
                self.block = Block::Flow;
                self.end_heading(level as u8);
            }
            TagEnd::CodeBlock | TagEnd::Table | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => {
                self.block = Block::Flow;
            }
            _ => {}
        }
    }

    fn end_heading(&mut self, level: u8) {
        let text: String = one_line(&self.heading_text).chars().take(MAX_HEADING_CHARS).collect();
        self.all_headings.push(text.clone());
        let above = self.heading_levels.iter().filter(|(above, _)| *above < level);
        self.heading_levels = above.cloned().chain([(level, text)]).collect();
        self.headings = self.heading_levels.iter().map(|(_, text)| text.clone()).collect();
        self.bold_phase = None;
    }

    /// Hands the inline text that has been gathered to where it belongs.
    fn end_run(&mut self) {
        self.needs_line = true;
        let (lines, cuts) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.cuts));
        if lines.is_empty() || self.block == Block::Opaque {
            return;
        }
        if let Block::Heading(_) = self.block {
            self.look_for_near_misses(&lines[..1], Prefix::Bullet);
            return;
        }
        let text = one_line(&self.text(&lines, &cuts));
        if let Some(index) = self.pending.take() {
            self.boxes[index].text = text;
            self.look_for_near_misses(&lines[1..], Prefix::Line);
            return;
        }
        let place = match self.frames.last_mut() {
            Some(frame) if frame.is_fresh => {
                frame.is_fresh = false;
                Prefix::Bullet
            }
            _ => Prefix::Line,
        };
        self.look_for_near_misses(&lines[..1], place);
        self.look_for_near_misses(&lines[1..], Prefix::Line);
        if let Some(owner) = self.frames.iter().rev().find_map(|frame| frame.own) {
            self.boxes[owner].body.push(text);
        } else if self.frames.is_empty() && is_bold_phase(&text) {
            let phase = text.trim_matches(['*', '_', ' ']).trim_end_matches(':');
            self.bold_phase = Some(phase.chars().take(MAX_HEADING_CHARS).collect());
        }
    }

    fn look_for_near_misses(&mut self, lines: &[RunLine], place: Prefix) {
        for line in lines {
            let Some(at) = line.text_at else { continue };
            let found = near_miss::read(&self.source[at..line.range.end], place);
            let Some((mark, text)) = found else { continue };
            let line = self.line(at);
            self.unrecognised.push(Unrecognised {
                line,
                mark: mark.to_owned(),
                text: one_line(text.trim_start_matches('\\')),
                written: self.whole_line(line).to_owned(),
            });
        }
    }

    /// Returns the source of inline text, without comments and without what quotes put before continued lines.
    fn text(&self, lines: &[RunLine], cuts: &[Range<usize>]) -> String {
        let mut text = String::new();
        let mut cuts = cuts.iter().peekable();
        for line in lines {
            let mut at = line.range.start;
            while let Some(cut) = cuts.next_if(|cut| cut.end <= line.range.end) {
                text.push_str(self.source.get(at..cut.start).unwrap_or_default());
                at = cut.end;
            }
            text.push_str(&self.source[at..line.range.end]);
            text.push(' ');
        }
        text
    }

    fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    fn whole_line(&self, line: usize) -> &'a str {
        let start = self.line_starts[line - 1];
        let end = self.line_starts.get(line).copied().unwrap_or(self.written.len());
        self.written[start..end].trim()
    }
}

#[derive(Debug, Clone, Copy)]
enum Inline {
    /// The start of emphasis, which may be before a box.
    Opening,
    Text,
    Other,
}

/// Returns where lines begin. Markdown ends a line at LF, CRLF and also at a lone CR.
fn line_starts(source: &str) -> Vec<usize> {
    let bytes = source.as_bytes();
    let after_breaks = bytes.iter().enumerate().filter_map(|(at, byte)| match byte {
        b'\n' => Some(at + 1),
        b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
        _ => None,
    });
    std::iter::once(0).chain(after_breaks).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
