//! Where each rule stands, and what is waited for.

use ratatui::text::{Line, Span};

use super::Canvas;
use super::scene::{RuleScene, SetScene, Tone};
use super::text::{fit, pad, span, width, wrap};

/// How many rows it can fill.
pub fn rows(set: &SetScene, canvas: Canvas) -> usize {
    1 + set.rules.len() + reasons(set, canvas).len()
}

pub fn lines(set: &SetScene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    if rows < 2 {
        return Vec::new();
    }
    let theme = canvas.theme;
    let mut lines = vec![canvas.title("Rollout", Vec::new())];
    let reasons = reasons(set, canvas);
    // What is waited for says more than where the rules stand: it gets at least two rows.
    let room = rows - 1;
    let rules = set.rules.len().min(room.saturating_sub(reasons.len().min(2)));
    let widest = set.rules.iter().map(|rule| width(&rule.rule)).max().unwrap_or_default();
    for rule in &set.rules[..rules] {
        lines.push(fit(rule_line(rule, widest, canvas), canvas.width));
    }
    let room = room - rules;
    let all = reasons.len() <= room;
    let shown = if all { reasons.len() } else { room };
    for (at, reason) in reasons[..shown].iter().enumerate() {
        let tone = if at == 0 { theme.tone(set.tone) } else { theme.tone(Tone::Plain) };
        let cut = !all && at + 1 == shown;
        let text = if cut { format!("{reason} …") } else { reason.clone() };
        lines.push(fit(Line::from(span(format!(" {text}"), tone)), canvas.width));
    }
    lines
}

/// What is waited for, in the words of `lockstep why`.
fn reasons(set: &SetScene, canvas: Canvas) -> Vec<String> {
    wrap(&set.why, canvas.width.saturating_sub(2))
}

fn rule_line(rule: &RuleScene, widest: usize, canvas: Canvas) -> Line<'static> {
    let theme = canvas.theme;
    let style = if rule.at_rest { theme.quiet() } else { theme.strong() };
    let mut spans = vec![span(format!(" {}  ", pad(&rule.rule, widest.min(canvas.width / 3))), style)];
    if let Some((step, of)) = rule.step.filter(|_| !rule.at_rest) {
        let done = usize::try_from(step.saturating_sub(1).min(of)).unwrap_or_default();
        let left = usize::try_from(of.saturating_sub(step)).unwrap_or_default();
        // A hundred steps are a number, not a picture.
        if of <= 20 {
            spans.push(span("●".repeat(done), theme.tone(Tone::Good)));
            spans.push(span("◉", theme.tone(Tone::Warn)));
            spans.push(span("○".repeat(left), theme.quiet()));
            spans.push(Span::raw("  "));
        }
    }
    let style = if rule.at_rest { theme.quiet() } else { theme.tone(Tone::Plain) };
    spans.push(span(rule.text.clone(), style));
    Line::from(spans)
}
