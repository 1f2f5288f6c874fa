//! Words in messages: lists, and the name that was probably meant.

/// `A`, `A or B`, `A, B or C`.
pub(crate) fn join_or(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [start @ .., last] => format!("{} or {last}", start.join(", ")),
    }
}

/// `A`, `A and B`, `A, B and C`.
pub(crate) fn join_and(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

/// The known name that was probably meant: the same but for case, or a few letters away.
pub(crate) fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    if let Some(same) = known.iter().find(|name| name.eq_ignore_ascii_case(written)) {
        return Some(same);
    }
    if written.chars().count() > 64 {
        return None;
    }
    let (distance, name) =
        known.iter().map(|name| (distance(written, name), *name)).min_by_key(|(distance, _)| *distance)?;
    let allowed = name.chars().count().min(written.chars().count()) / 3;
    (distance <= allowed.min(3)).then_some(name)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (a, b) = (lower(a), lower(b));
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_probably_meant() {
        let known = ["name", "replicas", "minAvailable", "minReadySeconds", "template"];
        for (written, meant) in [
            ("replica", Some("replicas")),
            ("Replicas", Some("replicas")),
            ("minavailable", Some("minAvailable")),
            ("naem", Some("name")),
            ("tempalte", Some("template")),
            ("frobnicate", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, &known), meant, "{written}");
        }
    }

    #[test]
    fn lists_read_as_people_say_them() {
        assert_eq!(join_or(&["A"]), "A");
        assert_eq!(join_or(&["A", "B", "C"]), "A, B or C");
        assert_eq!(join_and(&["A", "B", "C"].map(str::to_owned)), "A, B and C");
    }
}
