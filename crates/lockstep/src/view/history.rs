//! What happened lately.

use ratatui::text::Line;

use super::scene::Scene;
use super::text::{fit, span};
use super::{Canvas, clock};

pub fn lines(scene: &Scene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    if rows < 2 {
        return Vec::new();
    }
    let theme = canvas.theme;
    let from = scene.events.len().saturating_sub(rows - 1);
    let mut lines = vec![canvas.title("What happened", Vec::new())];
    for event in &scene.events[from..] {
        let time = span(format!(" {:>7}  ", clock(event.at)), theme.quiet());
        let text = span(event.text.clone(), theme.tone(event.tone));
        lines.push(fit(Line::from(vec![time, text]), canvas.width));
    }
    lines
}
