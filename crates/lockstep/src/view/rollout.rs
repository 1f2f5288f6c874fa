//! Where each rule stands, and what is waited for.

use ratatui::text::{Line, Span};

use super::Canvas;
use super::scene::{RuleScene, SetScene, Tone};
use super::text::{fit, pad, span, width, wrap};

/// How many rows it can fill.
pub fn rows(set: &SetScene, canvas: Canvas) -> usize {
    1 + rules(set, canvas).len() + wrapped(&set.why, canvas).len()
}

/// The same, with what is waited for in short.
pub fn with_rules(set: &SetScene, canvas: Canvas) -> usize {
    1 + rules(set, canvas).len() + wrapped(&set.why_short, canvas).len()
}

/// What is waited for in short, and nothing else. Of a cluster the rules say that.
pub fn least(set: &SetScene, canvas: Canvas) -> usize {
    if set.over_clusters { with_rules(set, canvas) } else { 1 + wrapped(&set.why_short, canvas).len() }
}

/// What is waited for says more than where the rules stand: they get what it leaves.
pub fn lines(set: &SetScene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    if rows < 2 {
        return Vec::new();
    }
    let theme = canvas.theme;
    let room = rows - 1;
    let all_rules = rules(set, canvas);
    let long = wrapped(&set.why, canvas);
    let reasons = if all_rules.len() + long.len() <= room { long } else { wrapped(&set.why_short, canvas) };
    let mut lines = vec![canvas.title("Rollout", Vec::new())];
    lines.extend(all_rules.into_iter().take(room.saturating_sub(reasons.len())));
    let room = rows - lines.len();
    let all = reasons.len() <= room;
    for (at, reason) in reasons.iter().take(room).enumerate() {
        let tone = if at == 0 { theme.tone(set.tone) } else { theme.tone(Tone::Plain) };
        let cut = !all && at + 1 == room;
        let text = if cut { format!("{reason} …") } else { reason.clone() };
        lines.push(fit(Line::from(span(format!(" {text}"), tone)), canvas.width));
    }
    lines
}

fn wrapped(text: &str, canvas: Canvas) -> Vec<String> {
    wrap(text, canvas.width.saturating_sub(2))
}

fn rules(set: &SetScene, canvas: Canvas) -> Vec<Line<'static>> {
    let widest = set.rules.iter().map(|rule| width(&rule.rule)).max().unwrap_or_default();
    set.rules.iter().flat_map(|rule| rule_lines(rule, widest, canvas)).collect()
}

fn rule_lines(rule: &RuleScene, widest: usize, canvas: Canvas) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let style = if rule.at_rest { theme.quiet() } else { theme.strong() };
    let mut head = vec![span(format!(" {}  ", pad(&rule.rule, widest.min(canvas.width / 3))), style)];
    if let Some((step, of)) = rule.step.filter(|_| !rule.at_rest) {
        let done = usize::try_from(step.saturating_sub(1).min(of)).unwrap_or_default();
        let left = usize::try_from(of.saturating_sub(step)).unwrap_or_default();
        // A hundred steps are a number, not a picture.
        if of <= 20 {
            head.push(span("●".repeat(done), theme.tone(Tone::Good)));
            head.push(span("◉", theme.tone(Tone::Warn)));
            head.push(span("○".repeat(left), theme.quiet()));
            head.push(Span::raw("  "));
        }
    }
    let style = if rule.at_rest { theme.quiet() } else { theme.tone(Tone::Plain) };
    let taken: usize = head.iter().map(Span::width).sum();
    let mut lines = Vec::new();
    for part in wrap(&rule.text, canvas.width.saturating_sub(taken)) {
        let mut spans =
            if lines.is_empty() { std::mem::take(&mut head) } else { vec![Span::raw(" ".repeat(taken))] };
        spans.push(span(part, style));
        lines.push(fit(Line::from(spans), canvas.width));
    }
    lines
}
