//! What happened lately.

use ratatui::text::Line;

use super::scene::{EventScene, Scene};
use super::text::{span, wrap};
use super::{Canvas, clock};

/// The columns in front of what happened.
const TIME: usize = 10;

/// How many rows it can fill.
pub fn rows(scene: &Scene, canvas: Canvas) -> usize {
    let events = scene.events.iter().map(|event| event_lines(event, canvas).len()).sum::<usize>();
    usize::from(events > 0) + events
}

/// How many rows the last event takes.
pub fn last(scene: &Scene, canvas: Canvas) -> usize {
    scene.events.last().map_or(0, |event| event_lines(event, canvas).len())
}

/// As many of the last events as fit, whole; with a title, if one is left that has room for it.
pub fn lines(scene: &Scene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    let titled = rows > last(scene, canvas);
    let room = rows.saturating_sub(usize::from(titled));
    let mut shown: Vec<Vec<Line<'static>>> = Vec::new();
    let mut taken = 0;
    for event in scene.events.iter().rev() {
        let lines = event_lines(event, canvas);
        // Even of the last one only the beginning may fit.
        if taken + lines.len() > room && !shown.is_empty() {
            break;
        }
        taken += lines.len();
        shown.push(lines);
    }
    let title = titled.then(|| canvas.title("What happened", Vec::new()));
    title.into_iter().chain(shown.into_iter().rev().flatten()).take(rows).collect()
}

fn event_lines(event: &EventScene, canvas: Canvas) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let text = wrap(&event.text, canvas.width.saturating_sub(TIME));
    let line = |(at, part): (usize, String)| {
        let time = if at == 0 { format!(" {:>7}  ", clock(event.at)) } else { " ".repeat(TIME) };
        Line::from(vec![span(time, theme.quiet()), span(part, theme.tone(event.tone))])
    };
    text.into_iter().enumerate().map(line).collect()
}
