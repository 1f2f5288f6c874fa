//! A rollout as a picture: one lane per instance, time from left to right.

use std::fmt::Write;

use lockstep_core::model::Spec;

use super::words;
use crate::story::lanes::{Doing, Lane};

/// Where time begins.
pub const LEFT: u64 = 190;
const WIDTH: u64 = 980;
const LANE: u64 = 18;
const TOP: u64 = 84;

const STYLE: &str = "\
svg { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; color: #1f2328; } .paper { fill: #ffffff; }
text { fill: currentColor; }
.title { font-size: 17px; font-weight: 600; } .small { font-size: 12px; opacity: .75; }
.group { font-weight: 600; } .line { stroke: currentColor; opacity: .18; }
.old { fill: #8c959f; } .new { fill: #2da44e; } .starting { fill: #d4a72c; } .gated { fill: #a475f9; }
.terminating { fill: #cf5b4a; } .surge { font-style: italic; }
@media (prefers-color-scheme: dark) {
  svg { color: #e6edf3; } .paper { fill: #0d1117; }
  .old { fill: #6e7681; } .new { fill: #3fb950; } .starting { fill: #e3b341; } .gated { fill: #bc8cff; }
  .terminating { fill: #f0715f; }
}";

const LEGEND: [(Doing, &str); 5] = [
    (Doing::Old, "old, ready"),
    (Doing::Terminating, "terminating"),
    (Doing::Gated, "held by a gate"),
    (Doing::Starting, "starting"),
    (Doing::New, "new, ready"),
];

fn class(doing: Doing) -> &'static str {
    match doing {
        Doing::Old => "old",
        Doing::New => "new",
        Doing::Gated => "gated",
        Doing::Starting => "starting",
        Doing::Terminating => "terminating",
    }
}

/// Draws the lanes over a length of time in milliseconds.
pub fn draw(title: &str, spec: &Spec, lanes: &[Lane], length: u64) -> String {
    let mut body = String::new();
    let mut y = TOP;
    let mut last: Option<u32> = None;
    for lane in lanes {
        if last != Some(lane.of.group) {
            y += if last.is_some() { 10 } else { 0 };
            let extra = if lane.of.group >= spec.replicas { " (surge)" } else { "" };
            let _ = writeln!(
                body,
                r#"<text class="group" x="12" y="{}">{}-{}{extra}</text>"#,
                y + 13,
                escape(&spec.name),
                lane.of.group
            );
            y += LANE;
            last = Some(lane.of.group);
        }
        draw_lane(&mut body, lane, y, length);
        y += LANE;
    }
    let legend = LEGEND.map(|(doing, _)| class(doing));
    Sheet { title, bottom: y + 6, length, legend: &legend }.draw(&body)
}

/// What all pictures have: a title, a legend and an axis of time.
pub struct Sheet<'a> {
    /// The title.
    pub title: &'a str,
    /// Where the lanes end.
    pub bottom: u64,
    /// How long they are, in milliseconds.
    pub length: u64,
    /// The classes that the legend explains.
    pub legend: &'a [&'static str],
}

impl Sheet<'_> {
    /// Where the lanes begin.
    pub const TOP: u64 = TOP;

    /// Puts the lanes onto it.
    pub fn draw(&self, body: &str) -> String {
        let height = self.bottom + 34;
        let mut text = String::new();
        let total = LEFT + WIDTH + 40;
        let _ = writeln!(
            text,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" width="{total}" height="{height}" role="img">"#
        );
        let title = escape(self.title);
        let _ = writeln!(text, "<title>{title}</title>\n<style>{STYLE}</style>");
        let _ = writeln!(text, r#"<rect class="paper" width="{total}" height="{height}"/>"#);
        let _ = writeln!(text, r#"<text class="title" x="12" y="28">{title}</text>"#);
        draw_legend(&mut text, self.legend);
        draw_axis(&mut text, self.length, self.bottom);
        text.push_str(body);
        text.push_str("</svg>\n");
        text
    }
}

fn draw_lane(body: &mut String, lane: &Lane, y: u64, length: u64) {
    let (mark, style) = if lane.surge { (" (surge)", r#" class="surge""#) } else { ("", "") };
    let name = format!("{}-{}{mark}", lane.of.role, lane.of.instance);
    let _ = writeln!(body, r#"<text{style} x="24" y="{}">{}</text>"#, y + 13, escape(&name));
    for stretch in &lane.stretches {
        let (from, to) = (x(stretch.from, length), x(stretch.to, length));
        let _ = writeln!(
            body,
            r#"<rect class="{}" x="{from}" y="{}" width="{}" height="{}" rx="2"><title>{}: {}, {} to {}</title></rect>"#,
            class(stretch.doing),
            y + 2,
            (to - from).max(1),
            LANE - 4,
            escape(&name),
            word(stretch.doing),
            words::roughly(stretch.from),
            words::roughly(stretch.to),
        );
    }
}

fn word(doing: Doing) -> &'static str {
    LEGEND.iter().find(|(of, _)| *of == doing).map_or("", |(_, word)| word)
}

/// Where a moment is from left to right.
pub fn x(time: u64, length: u64) -> u64 {
    let share = u128::from(time) * u128::from(WIDTH) / u128::from(length.max(1));
    LEFT + u64::try_from(share).unwrap_or(WIDTH).min(WIDTH)
}

fn draw_legend(text: &mut String, classes: &[&str]) {
    let mut x = 12;
    for (doing, word) in LEGEND.into_iter().filter(|(doing, _)| classes.contains(&class(*doing))) {
        let _ = writeln!(
            text,
            r#"<rect class="{}" x="{x}" y="42" width="14" height="12" rx="2"/><text class="small" x="{}" y="52">{word}</text>"#,
            class(doing),
            x + 20,
        );
        x += 36 + 7 * word.len();
    }
}

fn draw_axis(text: &mut String, length: u64, bottom: u64) {
    let step = step(length);
    let mut time = 0;
    while time <= length {
        let at = x(time, length);
        let _ = writeln!(text, r#"<line class="line" x1="{at}" y1="{}" x2="{at}" y2="{bottom}"/>"#, TOP - 6);
        let _ = writeln!(
            text,
            r#"<text class="small" x="{at}" y="{}" text-anchor="middle">{}</text>"#,
            bottom + 18,
            words::roughly(time)
        );
        time += step;
    }
}

/// Round distances, at most a dozen on the axis.
fn step(length: u64) -> u64 {
    const MINUTE: u64 = 60_000;
    let round = [1, 5, 10, 30, 60].map(|seconds| seconds * 1000).into_iter();
    let round = round.chain([2, 5, 10, 15, 30, 60, 120, 360, 720, 1440].map(|minutes| minutes * MINUTE));
    round.into_iter().find(|step| length / step <= 12).unwrap_or_else(|| (length / 12).max(1))
}

/// Text as XML has it.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("<a & 'b'>\u{7}"), "&lt;a &amp; &#39;b&#39;&gt; ");
    }

    #[test]
    fn the_axis_has_at_most_a_dozen_marks() {
        for length in [0, 1, 900, 61_000, 6_840_000, 86_400_000, u64::MAX / 2] {
            assert!(length / step(length) <= 12, "{length}");
        }
    }
}
