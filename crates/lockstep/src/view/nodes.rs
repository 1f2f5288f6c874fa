//! One line for each node: how it is, and the pods on it.

use ratatui::text::{Line, Span};

use super::Canvas;
use super::scene::{NodeScene, Scene, Tone};
use super::text::{fit, pad, span, width};

/// The widest name of a node.
const NAME: usize = 20;

/// On one row they are all there in short.
pub fn lines(scene: &Scene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    if rows == 0 || scene.nodes.is_empty() {
        return Vec::new();
    }
    if rows == 1 {
        return vec![in_short(scene, canvas)];
    }
    let room = rows - 1;
    let more = if scene.nodes.len() <= room { 0 } else { scene.nodes.len() - (room - 1) };
    let mut nodes: Vec<&NodeScene> = scene.nodes.iter().collect();
    if more > 0 {
        // Where not all can be shown, those in trouble are.
        nodes.sort_by_key(|node| match node.tone {
            Tone::Bad => 0,
            Tone::Warn => 1,
            _ => 2,
        });
    }
    let widest = |of: fn(&NodeScene) -> usize| scene.nodes.iter().map(of).max().unwrap_or_default();
    let name = widest(|node| width(&node.name)).min(NAME);
    let state = widest(|node| width(&node.state));
    let mut lines = vec![canvas.title("Nodes", legend(canvas))];
    for node in &nodes[..nodes.len() - more] {
        lines.push(fit(line(node, name, state, canvas), canvas.width));
    }
    if more > 0 {
        let pods: usize = nodes[nodes.len() - more..].iter().map(|node| node.pods.len()).sum();
        let text = format!(" … and {more} more nodes with {pods} pods");
        lines.push(Line::from(span(text, canvas.theme.quiet())));
    }
    lines
}

/// Every node and its pods, if they fit on a line; else how many there are, and which of them are in trouble.
fn in_short(scene: &Scene, canvas: Canvas) -> Line<'static> {
    let theme = canvas.theme;
    let mut spans = vec![span(" Nodes", theme.strong())];
    for node in &scene.nodes {
        spans.push(Span::raw(format!("  {} ", node.name)));
        if node.tone != Tone::Good {
            // That it is ready goes without saying.
            let state = node.state.trim_start_matches("Ready, ");
            spans.push(span(format!("{state} "), theme.tone(node.tone)));
        }
        spans.extend(pods(node, canvas));
    }
    let whole = Line::from(spans);
    if whole.width() <= canvas.width {
        return whole;
    }
    let bad: Vec<&NodeScene> = scene.nodes.iter().filter(|node| node.tone != Tone::Good).collect();
    let count = format!("{} Ready", scene.nodes.len() - bad.len());
    let mut spans = vec![span(" Nodes", theme.strong()), Span::raw(format!("  {count}"))];
    for node in bad {
        spans.push(Span::raw(format!("  {} ", node.name)));
        spans.push(span(node.state.clone(), theme.tone(node.tone)));
    }
    fit(Line::from(spans), canvas.width)
}

fn pods(node: &NodeScene, canvas: Canvas) -> impl Iterator<Item = Span<'static>> {
    let theme = canvas.theme;
    node.pods.iter().map(move |pod| span(theme.pod(pod.state, pod.letter), theme.role(pod.role)))
}

fn legend(canvas: Canvas) -> Vec<Span<'static>> {
    let text = if canvas.theme.colour {
        "● new  ◍ old  ○ not ready  ! broken  × leaving"
    } else {
        "P ready  p not ready  ! broken  × leaving"
    };
    vec![span(text, canvas.theme.quiet())]
}

fn line(node: &NodeScene, name: usize, state: usize, canvas: Canvas) -> Line<'static> {
    let theme = canvas.theme;
    let gpus = node.gpus.map(|(used, all)| format!("{used}/{all} GPU")).unwrap_or_default();
    let mut spans = vec![
        Span::raw(format!(" {}  ", pad(&node.name, name))),
        span(format!("{}  ", pad(&node.state, state)), theme.tone(node.tone)),
        span(format!("{gpus:>9}  "), theme.quiet()),
    ];
    spans.extend(pods(node, canvas));
    Line::from(spans)
}
