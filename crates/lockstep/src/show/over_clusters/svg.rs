//! A rollout over clusters as a picture: one lane per cluster, its pods one above the other, time from left to right.

use std::fmt::Write;

use crate::show::svg::{LEFT, Sheet, escape, x};
use crate::show::words;
use crate::story::spread::lanes::{Lane, Stretch};

/// How high the fullest lane is.
const HIGHEST: u64 = 64;
const GAP: u64 = 14;

/// Draws the lanes over a length of time in milliseconds.
pub fn draw(title: &str, lanes: &[Lane], length: u64) -> String {
    let pods = |it: &Stretch| u64::from(it.old.0) + u64::from(it.new.0);
    let most = lanes.iter().flat_map(|lane| &lane.stretches).map(pods).max().unwrap_or(0).max(1);
    let mut body = String::new();
    let mut y = Sheet::TOP;
    for lane in lanes {
        let of_lane = lane.stretches.iter().map(pods).max().unwrap_or(0);
        let height = height(of_lane, most).max(18);
        let _ = writeln!(
            body,
            r#"<text class="group" x="12" y="{}">{}</text>"#,
            y + height / 2 + 5,
            escape(&lane.cluster)
        );
        for stretch in &lane.stretches {
            draw_stretch(&mut body, &lane.cluster, stretch, (y + height, most, length));
        }
        y += height + GAP;
    }
    Sheet { title, bottom: y, length, legend: &["old", "starting", "new"] }.draw(&body)
}

fn height(pods: u64, most: u64) -> u64 {
    pods * HIGHEST / most
}

/// From the bottom up: new and available, starting, old and available.
fn draw_stretch(body: &mut String, cluster: &str, it: &Stretch, (bottom, most, length): (u64, u64, u64)) {
    let (from, to) = (x(it.from, length), x(it.to, length));
    let down = it.new.0 - it.new.1 + it.old.0 - it.old.1;
    let said = format!(
        "{}: {} old, {} new, {} not available, {} to {}",
        escape(cluster),
        it.old.0,
        it.new.0,
        down,
        words::roughly(it.from),
        words::roughly(it.to)
    );
    let mut below = 0;
    for (class, pods) in [("new", it.new.1), ("starting", down), ("old", it.old.1)] {
        let pods = u64::from(pods);
        if pods == 0 {
            continue;
        }
        let (low, high) = (height(below, most), height(below + pods, most));
        let _ = writeln!(
            body,
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"><title>{said}</title></rect>"#,
            from.max(LEFT),
            bottom - high,
            (to - from).max(1),
            (high - low).max(1),
        );
        below += pods;
    }
}
