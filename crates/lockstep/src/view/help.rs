//! The keys, and what they do.

use ratatui::text::{Line, Span};

use super::Canvas;
use super::scene::Scene;
use super::text::{fit, span};

/// A key.
pub struct Key {
    /// How it is written.
    pub key: &'static str,
    /// In a word, for the line at the bottom; nothing, if it is not shown there.
    pub word: &'static str,
    /// In a sentence.
    pub does: &'static str,
}

const fn key(key: &'static str, word: &'static str, does: &'static str) -> Key {
    Key { key, word, does }
}

/// All keys.
pub const KEYS: [Key; 13] = [
    key("r", "roll", "roll every role to the next version of its image"),
    key("b", "bad", "roll one role to an image that does not exist: its pods never become ready"),
    key("n", "node", "lose the fullest node, or bring it back"),
    key("p", "pause", "pause the set, or let it go on"),
    key("P", "promote", "let the pause pass that holds now"),
    key("u", "undo", "put back into the spec what stood complete before"),
    key("a", "abort", "back to what stood complete; the spec stays as it is"),
    key("t", "", "try again after a stall"),
    key("s", "scale", "one more instance of a role in each group"),
    key("S", "", "one less"),
    key("Tab", "", "the next set"),
    key("?", "help", "this help, or away with it"),
    key("q", "quit", "quit; Ctrl-C does the same"),
];

/// The keys where a Deployment is rolled over several clusters.
pub const KEYS_OVER_CLUSTERS: [Key; 7] = [
    key("r", "roll", "roll the Deployment to the next version of its image"),
    key("b", "bad", "roll it to an image that does not exist: its pods never become ready"),
    key("n", "cut off", "cut the last cluster off from the host, or let it be reached again"),
    key("p", "pause", "pause the Deployment in all clusters, or let it go on"),
    key("a", "abort", "put the template back that stood complete last in all clusters"),
    key("?", "help", "this help, or away with it"),
    key("q", "quit", "quit; Ctrl-C does the same"),
];

/// The keys that mean something in a scene.
pub fn keys(scene: &Scene) -> &'static [Key] {
    let over_clusters = scene.set.as_ref().is_some_and(|set| set.over_clusters);
    if over_clusters { &KEYS_OVER_CLUSTERS } else { &KEYS }
}

pub fn lines(scene: &Scene, canvas: Canvas, rows: usize) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let mut lines = vec![canvas.title("Help", Vec::new())];
    for key in keys(scene) {
        let spans = vec![span(format!("  {:<5}", key.key), theme.strong()), Span::raw(key.does)];
        lines.push(fit(Line::from(spans), canvas.width));
    }
    let closing = "Every key does what a command line does, and shows it at the bottom.";
    lines.push(Line::default());
    lines.push(fit(Line::from(span(format!("  {closing}"), theme.quiet())), canvas.width));
    lines.truncate(rows);
    lines
}
