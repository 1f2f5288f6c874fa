//! The terminal view of `lockstep up`: a pure function from a scene to a frame.

mod footer;
mod header;
mod help;
mod history;
mod nodes;
mod roles;
mod rollout;
pub mod scene;
mod share;
mod text;
pub mod theme;

#[cfg(test)]
mod tests;

use lockstep_core::time::Millis;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use self::scene::{Scene, SetScene};
use self::share::{More, share};
use self::theme::Theme;

/// Smaller than this nothing can be said.
const SMALLEST: (u16, u16) = (40, 10);

/// Where sections are drawn: how wide, and how it looks.
#[derive(Debug, Clone, Copy)]
struct Canvas {
    width: usize,
    theme: Theme,
}

impl Canvas {
    /// A line that begins a section.
    fn title(self, name: &str, right: Vec<Span<'static>>) -> Line<'static> {
        let quiet = self.theme.quiet();
        let taken: usize = right.iter().map(Span::width).sum();
        let dashes = self.width.saturating_sub(text::width(name) + taken + 5);
        let mut spans = vec![text::span("── ", quiet), text::span(name, self.theme.strong())];
        if dashes > 0 || !right.is_empty() {
            spans.push(text::span(format!(" {} ", "─".repeat(dashes)), quiet));
        }
        spans.extend(right);
        text::fit(Line::from(spans), self.width)
    }
}

/// Draws a scene.
pub fn draw(frame: &mut Frame<'_>, scene: &Scene, theme: Theme) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let least = format!("at least {} × {}, please", SMALLEST.0, SMALLEST.1);
        frame.render_widget(Paragraph::new(least), area);
        return;
    }
    let canvas = Canvas { width: usize::from(area.width), theme };
    let header = header::lines(scene, canvas);
    let footer = footer::lines(scene, canvas, usize::from(area.height) / 16);
    let rows = usize::from(area.height).saturating_sub(header.len() + footer.len());
    let middle = if scene.help { help::lines(scene, canvas, rows) } else { sections(scene, canvas, rows) };
    let top = middle_top(&header, area);
    put(frame, header, area);
    put(frame, middle, Rect { y: top, height: u16::try_from(rows).unwrap_or(u16::MAX), ..area });
    let below = u16::try_from(footer.len()).unwrap_or(area.height).min(area.height);
    put(frame, footer, Rect { y: area.bottom() - below, height: below, ..area });
}

fn middle_top(header: &[Line<'static>], area: Rect) -> u16 {
    area.y + u16::try_from(header.len()).unwrap_or_default().min(area.height)
}

fn put(frame: &mut Frame<'_>, lines: Vec<Line<'static>>, area: Rect) {
    frame.render_widget(Paragraph::new(lines), area.intersection(frame.area()));
}

/// What stands between header and footer: roles, rollout, nodes and what happened.
fn sections(scene: &Scene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    let Some(set) = &scene.set else {
        let mut lines = nodes::lines(scene, canvas, rows / 2);
        let given = rows.saturating_sub(lines.len());
        lines.extend(history::lines(scene, canvas, given));
        return lines;
    };
    let given = heights(scene, set, canvas, rows);
    let mut lines = roles::lines(set, canvas, given[0]);
    lines.extend(rollout::lines(set, canvas, given[1]));
    lines.extend(nodes::lines(scene, canvas, given[2]));
    lines.extend(history::lines(scene, canvas, given[3]));
    lines
}

/// Enough of the last event to know what it is about.
const LAST_EVENT: usize = 3;
/// With so many rows, some nodes of many are worth a list.
const SOME_NODES: usize = 6;

/// How many rows each section has. On a small screen that is the roles (of many, the first), what is waited for and what
/// to do about it, the nodes on one line and the last event; whatever room is left makes one after the other complete.
fn heights(scene: &Scene, set: &SetScene, canvas: Canvas, rows: usize) -> [usize; 4] {
    let [roles, rollout, nodes, history] = [0, 1, 2, 3];
    let least = [
        roles::least(set).min(3.max(rows / 3)),
        rollout::least(set, canvas).min(3.max(rows * 2 / 3)),
        usize::from(!scene.nodes.is_empty()),
        history::last(scene, canvas).min(LAST_EVENT),
    ];
    let all_nodes = 1 + scene.nodes.len();
    let all_events = history::rows(scene, canvas);
    let wishes = [
        More::whole(roles, roles::rows(set)),
        More { of: rollout, from: 0, to: rollout::with_rules(set, canvas).min(rows * 3 / 5) },
        More::whole(nodes, all_nodes),
        More { of: history, from: 0, to: all_events.min(5) },
        More::whole(rollout, rollout::rows(set, canvas)),
        More { of: nodes, from: SOME_NODES.min(all_nodes), to: all_nodes },
        More { of: history, from: 0, to: all_events },
    ];
    share(rows, least, &wishes)
}

/// A length of time as a clock shows it: `0:34`, `1:02:03`.
fn clock(length: Millis) -> String {
    let seconds = length.0 / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}
