//! Small pieces of language.

use comfy_table::{ContentArrangement, Table, presets};
use lockstep_core::time::Millis;

/// How wide tables are.
const WIDTH: u16 = 110;

/// `group` or `groups`.
pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// `1 group` or `2 groups`.
pub fn count(count: impl Into<u64>, word: &str) -> String {
    let count: u64 = count.into();
    format!("{count} {}", plural(usize::try_from(count).unwrap_or(usize::MAX), word))
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// Instances by name: `prefill-3 … prefill-0`; runs of three and more are shortened.
pub fn ordinals(role: &str, ordinals: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while at < ordinals.len() {
        let step = |i: usize| i64::from(ordinals[i + 1]) - i64::from(ordinals[i]);
        let mut end = at;
        if at + 1 < ordinals.len() && step(at).abs() == 1 {
            while end + 1 < ordinals.len() && step(end) == step(at) {
                end += 1;
            }
        }
        if end >= at + 2 {
            parts.push(format!("{role}-{} … {role}-{}", ordinals[at], ordinals[end]));
        } else {
            end = at;
            parts.push(format!("{role}-{}", ordinals[at]));
        }
        at = end + 1;
    }
    parts.join(", ")
}

/// Tenths of a percent as a percentage: `5%`, `2.5%`.
pub fn permille(n: u32) -> String {
    if n.is_multiple_of(10) { format!("{}%", n / 10) } else { format!("{}.{}%", n / 10, n % 10) }
}

/// A length of time as a person plans with it: seconds are dropped from ten minutes on.
pub fn roughly(millis: u64) -> String {
    let seconds = (millis + 500) / 1000;
    let rounded = if seconds >= 600 { (seconds + 30) / 60 * 60 } else { seconds };
    if millis > 0 && seconds == 0 { Millis(millis).to_string() } else { Millis::seconds(rounded).to_string() }
}

/// An age as kubectl shows it: `41s`, `12m`, `5h`, `3d`.
pub fn age(length: Millis) -> String {
    let seconds = length.0 / 1000;
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A table without lines, as wide as its content, at most as a screen.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    if !header.is_empty() {
        table.set_header(header.iter().copied());
    }
    for row in rows {
        table.add_row(row);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_by_name() {
        for (given, text) in [
            (vec![], ""),
            (vec![3], "p-3"),
            (vec![3, 2], "p-3, p-2"),
            (vec![3, 2, 1, 0], "p-3 … p-0"),
            (vec![0, 1, 2, 7], "p-0 … p-2, p-7"),
            (vec![5, 3, 2, 1], "p-5, p-3 … p-1"),
        ] {
            assert_eq!(ordinals("p", &given), text);
        }
    }

    #[test]
    fn times_to_plan_with() {
        for (millis, text) in
            [(0, "0s"), (1, "1ms"), (61_000, "1m1s"), (2_401_000, "40m"), (6_869_000, "1h54m")]
        {
            assert_eq!(roughly(millis), text);
        }
    }

    #[test]
    fn ages() {
        for (seconds, text) in [(41, "41s"), (119, "119s"), (120, "2m"), (18_000, "5h"), (259_200, "3d")] {
            assert_eq!(age(Millis::seconds(seconds)), text);
        }
    }

    #[test]
    fn lists_and_numbers() {
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(count(1u32, "group"), "1 group");
        assert_eq!(permille(25), "2.5%");
    }
}
