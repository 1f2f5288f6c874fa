//! What changed of a pod, as a real API server tells it: the difference of its inner types, line by line.

use std::ops::Range;

use serde_json::Value;

use crate::builtin::wire;

/// So many lines around each change.
const AROUND: usize = 3;

/// The difference of two specifications of pods.
pub(super) fn of_pods(old: &Value, new: &Value) -> String {
    unified(&wire::inner_pretty("PodSpec", old), &wire::inner_pretty("PodSpec", new))
}

/// A stretch of lines that is the same in both, or not.
struct Stretch {
    same: bool,
    old: Range<usize>,
    new: Range<usize>,
}

fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut text = String::new();
    for hunk in hunks(stretches(&old, &new)) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let (a, b) = (first.old.start..last.old.end, first.new.start..last.new.end);
        text.push_str(&format!("@@ -{} +{} @@\n", shown(&a), shown(&b)));
        for stretch in &hunk {
            let (was, is) = (&old[stretch.old.clone()], &new[stretch.new.clone()]);
            if stretch.same {
                text.extend(was.iter().map(|line| format!(" {line}\n")));
            } else {
                text.extend(was.iter().map(|line| format!("-{line}\n")));
                text.extend(is.iter().map(|line| format!("+{line}\n")));
            }
        }
    }
    text
}

fn shown(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

/// All of both texts.
fn stretches(old: &[&str], new: &[&str]) -> Vec<Stretch> {
    let mut same = Vec::new();
    common(old, new, 0..old.len(), 0..new.len(), &mut same);
    same.push((old.len(), new.len(), 0));
    let mut all: Vec<Stretch> = Vec::new();
    let (mut a, mut b) = (0, 0);
    for (in_old, in_new, length) in same {
        if a < in_old || b < in_new {
            all.push(Stretch { same: false, old: a..in_old, new: b..in_new });
        }
        (a, b) = (in_old + length, in_new + length);
        match all.last_mut() {
            Some(last) if last.same && last.old.end == in_old && last.new.end == in_new => {
                (last.old.end, last.new.end) = (a, b);
            }
            _ if length > 0 => all.push(Stretch { same: true, old: in_old..a, new: in_new..b }),
            _ => {}
        }
    }
    all
}

/// The longest run of common lines, then those on either side of it.
fn common(
    old: &[&str],
    new: &[&str],
    a: Range<usize>,
    b: Range<usize>,
    found: &mut Vec<(usize, usize, usize)>,
) {
    let (mut in_old, mut in_new, mut length) = (0, 0, 0);
    let mut before = vec![0; b.len() + 1];
    for i in a.clone() {
        let mut runs = vec![0; b.len() + 1];
        for (place, j) in b.clone().enumerate() {
            if old[i] == new[j] {
                let run = before[place] + 1;
                runs[place + 1] = run;
                if run > length {
                    (in_old, in_new, length) = (i + 1 - run, j + 1 - run, run);
                }
            }
        }
        before = runs;
    }
    if length > 0 {
        common(old, new, a.start..in_old, b.start..in_new, found);
        found.push((in_old, in_new, length));
        common(old, new, in_old + length..a.end, in_new + length..b.end, found);
    }
}

/// The changes with the lines around them, those that are near each other together.
fn hunks(stretches: Vec<Stretch>) -> Vec<Vec<Stretch>> {
    let number = stretches.len();
    let mut hunks: Vec<Vec<Stretch>> = vec![Vec::new()];
    for (place, stretch) in stretches.into_iter().enumerate() {
        let Stretch { same, old, new } = stretch;
        let (first, last) = (place == 0, place + 1 == number);
        let length = old.len();
        if !same || (!first && !last && length <= 2 * AROUND) {
            hunks.extend(hunks.is_empty().then(Vec::new));
            if let Some(hunk) = hunks.last_mut() {
                hunk.push(Stretch { same, old, new });
            }
            continue;
        }
        let kept = length.min(AROUND);
        if !first {
            let (old, new) = (old.start..old.start + kept, new.start..new.start + kept);
            if let Some(hunk) = hunks.last_mut() {
                hunk.push(Stretch { same, old, new });
            }
        }
        if !last {
            let lead = Stretch { same, old: old.end - kept..old.end, new: new.end - kept..new.end };
            if first {
                hunks = vec![vec![lead]];
            } else {
                hunks.push(vec![lead]);
            }
        }
    }
    hunks.retain(|hunk| hunk.iter().any(|stretch| !stretch.same));
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_the_lines_around_them() {
        let lines = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("\n");
        let old: Vec<u32> = (1..30).collect();
        let mut new = old.clone();
        new[4] = 100;
        new.remove(20);
        new.push(200);
        let expected = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+100\n 6\n 7\n 8\n\
            @@ -18,7 +18,6 @@\n 18\n 19\n 20\n-21\n 22\n 23\n 24\n@@ -27,3 +26,4 @@\n 27\n 28\n 29\n+200\n";
        assert_eq!(unified(&lines(&old), &lines(&new)), expected);
        assert_eq!(unified("a\nb", "a\nb"), "");
    }
}
