//! One line for each node: how it is, and the pods on it.

use ratatui::text::{Line, Span};

use super::Canvas;
use super::scene::{NodeScene, Scene, Tone};
use super::text::{fit, pad, span, width};

/// The widest name of a node.
const NAME: usize = 20;

pub fn lines(scene: &Scene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    if rows < 2 {
        return Vec::new();
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
    let pods = node.pods.iter().map(|pod| span(theme.pod(pod.state, pod.letter), theme.role(pod.role)));
    spans.extend(pods);
    Line::from(spans)
}
