//! What panels are made of.

use ratatui::Frame;
use ratatui::layout::{Margin, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{
    Block, BorderType, HighlightSpacing, List, ListState, Scrollbar, ScrollbarOrientation, ScrollbarState,
};

use super::row::{Look, Row, style};

/// In front of the line that keys act on.
pub const CURSOR: &str = "▌";

/// A panel with its title and what is at the right of that. Returns the area inside.
pub fn panel(frame: &mut Frame<'_>, area: Rect, is_focused: bool, [title, right]: [Row; 2]) -> Rect {
    let look = if is_focused { Look::Accent } else { Look::Dim };
    let room = usize::from(area.width.saturating_sub(6));
    let title = title.cut(room.saturating_sub(right.width() + 3));
    let title = Row::of(look, "─ ").then(title).and(look, " ");
    let mut block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style(look))
        // A title has the looks of its words, not of the border.
        .title_style(Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM))
        .title_top(Line::from(title));
    if right.width() > 0 {
        let right = Row::of(look, " ").then(right).and(look, " ─");
        block = block.title_top(Line::from(right).right_aligned());
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// A panel with a list of items of a row or more, one of them chosen. They are a part of a list of this length, from this
/// line on.
pub fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    is_focused: bool,
    titles: [Row; 2],
    items: Vec<Vec<Row>>,
    chosen: Option<usize>,
    (top, length): (usize, usize),
) {
    let inner = panel(frame, area, is_focused, titles);
    let room = usize::from(inner.width.saturating_sub(2));
    let items = items
        .into_iter()
        .map(|rows| text(rows.into_iter().map(|row| row.fitted(room).and(Look::Plain, " ")).collect()));
    // One bar in one colour, whatever is in it.
    let (symbol, look) = if is_focused {
        let bar = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM);
        (Line::raw(" "), bar.add_modifier(Modifier::REVERSED))
    } else {
        (Line::styled(CURSOR, style(Look::Accent)), Style::new().add_modifier(Modifier::BOLD))
    };
    let widget = List::new(items)
        .highlight_symbol(symbol)
        .highlight_spacing(HighlightSpacing::Always)
        .highlight_style(look);
    frame.render_stateful_widget(widget, inner, &mut ListState::default().with_selected(chosen));
    scrollbar(frame, area, length, top);
}

/// The bar at the edge of what is longer than its area.
pub fn scrollbar(frame: &mut Frame<'_>, area: Rect, length: usize, top: usize) {
    let height = usize::from(area.height.saturating_sub(2));
    if length <= height || height == 0 {
        return;
    }
    let mut state = ScrollbarState::new(length - height + 1).position(top).viewport_content_length(height);
    let bar = Scrollbar::new(ScrollbarOrientation::VerticalRight)
        .begin_symbol(None)
        .end_symbol(None)
        .track_symbol(None)
        .thumb_symbol("┃")
        .thumb_style(style(Look::Dim));
    frame.render_stateful_widget(bar, area.inner(Margin { horizontal: 0, vertical: 1 }), &mut state);
}

/// Rows below each other.
pub fn text(rows: Vec<Row>) -> Text<'static> {
    rows.into_iter().map(Line::from).collect()
}
