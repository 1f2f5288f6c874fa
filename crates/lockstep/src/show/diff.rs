//! The difference between two texts, line by line.

use crate::screen::Paint;

/// The lines that differ, with the line that leads to each.
pub fn changes(old: &str, new: &str, paint: Paint) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let longest = longest_common(&a, &b);
    let (mut i, mut j) = (0, 0);
    let mut text = String::new();
    let mut near: Option<usize> = None;
    while i < a.len() || j < b.len() {
        let same = i < a.len() && j < b.len() && a[i] == b[j];
        if same {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let context = i.checked_sub(1).filter(|line| near != Some(*line));
        if let Some(line) = context {
            text.push_str(&format!("{:>4}   {}\n", line + 1, a[line]));
        }
        while i < a.len()
            && (j >= b.len() || longest[i + 1][j] >= longest[i][j + 1])
            && !(j < b.len() && a[i] == b[j])
        {
            text.push_str(&paint.bad(&format!("{:>4} - {}", i + 1, a[i])));
            text.push('\n');
            i += 1;
        }
        while j < b.len()
            && !(i < a.len() && a[i] == b[j])
            && (i >= a.len() || longest[i + 1][j] < longest[i][j + 1])
        {
            text.push_str(&paint.good(&format!("{:>4} + {}", j + 1, b[j])));
            text.push('\n');
            j += 1;
        }
        near = i.checked_sub(1);
    }
    text
}

/// For every pair of positions: how many lines the rests have in common.
fn longest_common(a: &[&str], b: &[&str]) -> Vec<Vec<u32>> {
    let mut table = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i][j] =
                if a[i] == b[j] { table[i + 1][j + 1] + 1 } else { table[i + 1][j].max(table[i][j + 1]) };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_differs_and_where() {
        let text = changes("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n", Paint::PLAIN);
        assert_eq!(text, "   1   a\n   2 - b\n   2 + x\n   4   d\n   5 + e\n");
        assert_eq!(changes("a\n", "a\n", Paint::PLAIN), "");
    }
}
