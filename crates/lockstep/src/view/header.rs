//! Which set, and where it stands: the two lines at the top.

use ratatui::text::{Line, Span};

use super::scene::{Scene, SetScene, Tone};
use super::text::{ends, fit, span, width};
use super::{Canvas, clock};
use crate::show::words;

pub fn lines(scene: &Scene, canvas: Canvas) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let up = vec![span(format!("up {} ", clock(scene.elapsed)), theme.quiet())];
    let Some(set) = &scene.set else {
        let none = vec![span(" no LockstepSet yet", theme.tone(Tone::Warn))];
        let hint = Line::from(span(" kubectl apply -f examples/up.yaml", theme.quiet()));
        return vec![ends(none, up, canvas.width), fit(hint, canvas.width)];
    };
    let mut right = Vec::new();
    if scene.sets.len() > 1 {
        let which = format!("set {}/{} (Tab)  ", scene.chosen + 1, scene.sets.len());
        right.push(span(which, theme.quiet()));
    }
    right.extend(up);
    let room = canvas.width.saturating_sub(right.iter().map(Span::width).sum::<usize>() + 1);
    vec![
        ends(name_and_phase(set, canvas, room), right, canvas.width),
        fit(numbers(set, canvas), canvas.width),
    ]
}

/// In so many columns, if that is possible.
fn name_and_phase(set: &SetScene, canvas: Canvas, room: usize) -> Vec<Span<'static>> {
    let theme = canvas.theme;
    let mut spans = vec![
        span(format!(" {}", set.name), theme.strong()),
        span(format!(" in {}  ", set.namespace), theme.quiet()),
        span(set.phase.clone(), theme.tone(set.tone).patch(theme.strong())),
    ];
    if let Some(since) = set.since {
        spans.push(span(format!(" for {}", clock(since)), theme.tone(set.tone)));
    }
    let room = room.saturating_sub(spans.iter().map(Span::width).sum::<usize>() + 2);
    let fits = set.names.iter().find(|name| width(name) <= room);
    if let Some(name) = fits.or(set.names.last()) {
        spans.push(Span::raw(format!("  {name}")));
    }
    spans
}

fn numbers(set: &SetScene, canvas: Canvas) -> Line<'static> {
    let theme = canvas.theme;
    let groups = words::count(set.groups, if set.over_clusters { "cluster" } else { "group" });
    let updated = if set.goes_back { "back" } else { "updated" };
    let mut said = format!(" {groups}: {} {updated}, {} ready", set.groups_updated, set.groups_ready);
    if !set.in_update.is_empty() {
        let which: Vec<String> = set.in_update.iter().map(ToString::to_string).collect();
        said += &format!(", in update: {}", words::list(&which));
    }
    let mut spans = vec![Span::raw(said), Span::raw("  ")];
    for (text, tone) in &set.conditions {
        spans.push(span(format!(" {text} "), theme.tone(*tone)));
    }
    Line::from(spans)
}
