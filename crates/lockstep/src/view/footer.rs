//! What the last key did, how to reach the cluster, and the keys.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Canvas;
use super::help;
use super::scene::{Said, Scene, Tone};
use super::text::{fit, span, width, wrap};

/// The lines at the bottom; the command that was said may take up to `most` of them.
pub fn lines(scene: &Scene, canvas: Canvas, most: usize) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let mut lines = vec![canvas.title(access(scene, canvas), Vec::new())];
    match &scene.said {
        Some(said) => lines.extend(said_lines(said, canvas, if said.is_old { 1 } else { most.max(1) })),
        None => {
            let hint = match &scene.set {
                Some(set) if set.over_clusters => " r rolls it to a new version, cluster by cluster",
                Some(_) => " r rolls the set to a new version",
                None => "",
            };
            lines.push(fit(Line::from(span(hint, theme.quiet())), canvas.width));
        }
    }
    lines.push(fit(keys(scene, canvas), canvas.width));
    lines
}

/// How to reach the cluster; where that is too long, without what one might do there first.
fn access(scene: &Scene, canvas: Canvas) -> &str {
    let whole = scene.access.as_str();
    // Two dashes and a blank stand before it.
    if width(whole) + 3 <= canvas.width { whole } else { whole.split("; ").next().unwrap_or(whole) }
}

fn said_lines(said: &Said, canvas: Canvas, most: usize) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    // What was done is said whole while it is new; of a command the beginning says what it is.
    let of_text = if said.is_old { 1 } else { 2 };
    let mut lines = block(&said.text, canvas, of_text, theme.tone(said.tone));
    if let Some(command) = &said.command {
        lines.extend(block(&format!("$ {command}"), canvas, most, theme.tone(Tone::Quiet)));
    }
    lines
}

/// A text in at most so many lines.
fn block(text: &str, canvas: Canvas, most: usize, style: Style) -> Vec<Line<'static>> {
    let wrapped = wrap(text, canvas.width.saturating_sub(2));
    let whole = wrapped.len() <= most;
    let line = |(at, part): (usize, String)| {
        let text = if !whole && at + 1 == most { format!(" {part} …") } else { format!(" {part}") };
        fit(Line::from(span(text, style)), canvas.width)
    };
    wrapped.into_iter().take(most).enumerate().map(line).collect()
}

fn keys(scene: &Scene, canvas: Canvas) -> Line<'static> {
    let shown = || help::keys(scene).iter().filter(|key| !key.word.is_empty());
    let tight: usize = shown().map(|key| key.key.len() + key.word.len() + 2).sum();
    let gap = if tight + shown().count() <= canvas.width { "  " } else { " " };
    let mut spans = vec![Span::raw(" ")];
    for key in shown() {
        spans.push(span(key.key, canvas.theme.strong()));
        spans.push(span(format!(" {}{gap}", key.word), canvas.theme.quiet()));
    }
    Line::from(spans)
}
