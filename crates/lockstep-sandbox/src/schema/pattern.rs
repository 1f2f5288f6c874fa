//! Patterns are written for Go; here they are read by another engine that differs in small things.

use regex::Regex;

/// Reads a pattern as Go would.
pub fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&translated(pattern))
}

/// Why a pattern is none, in Go's words as far as they are simple.
pub fn problem(pattern: &str, error: &regex::Error) -> String {
    let said = error.to_string();
    let why = [
        ("unclosed character class", "missing closing ]"),
        ("unclosed group", "missing closing )"),
        ("unopened group", "unexpected )"),
        ("repetition operator missing expression", "missing argument to repetition operator"),
        ("incomplete escape sequence", "trailing backslash at end of expression"),
    ];
    let found = why.iter().find(|(theirs, _)| said.contains(theirs)).map(|(_, gos)| *gos);
    match found {
        Some("missing closing ]") => {
            let from = pattern.rfind('[').and_then(|at| pattern.get(at..)).unwrap_or(pattern);
            format!("error parsing regexp: missing closing ]: `{from}`")
        }
        Some("missing argument to repetition operator") => {
            let operator = pattern.chars().find(|letter| "*+?".contains(*letter)).unwrap_or('*');
            format!("error parsing regexp: missing argument to repetition operator: `{operator}`")
        }
        Some("trailing backslash at end of expression") => {
            "error parsing regexp: trailing backslash at end of expression: ``".to_owned()
        }
        Some(why) => format!("error parsing regexp: {why}: `{pattern}`"),
        None => format!("error parsing regexp: invalid or unsupported syntax: `{pattern}`"),
    }
}

/// In Go, classes like `\d` know ASCII only, a `[` within a class is itself, and so is a `{` that is no repetition.
fn translated(pattern: &str) -> String {
    let letters: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len());
    let mut class = false;
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let rest = letters.get(at.saturating_add(1)..).unwrap_or_default();
        let next = rest.first().copied();
        match letter {
            // A class of Unicode has its name in braces.
            '\\' if matches!(next, Some('p' | 'P')) && rest.get(1) == Some(&'{') => {
                let name: String = rest.iter().take_while(|letter| **letter != '}').collect();
                at = at.saturating_add(name.chars().count().saturating_add(1));
                out.push_str(&format!("\\{name}}}"));
            }
            '\\' => {
                out.push_str(&escape(next, class));
                at = at.saturating_add(1);
            }
            '[' if !class => {
                class = true;
                out.push('[');
                // A `]` that comes first is itself.
                let (negated, first) =
                    if next == Some('^') { (true, rest.get(1)) } else { (false, rest.first()) };
                if negated {
                    out.push('^');
                    at = at.saturating_add(1);
                }
                if first == Some(&']') {
                    out.push_str("\\]");
                    at = at.saturating_add(1);
                }
            }
            '[' if next != Some(':') => out.push_str("\\["),
            '[' => out.push_str(&named_class(rest, &mut at)),
            ']' => {
                class = false;
                out.push(']');
            }
            '&' | '~' if class => {
                out.push('\\');
                out.push(letter);
            }
            '{' if !class && !repeats(rest) => out.push_str("\\{"),
            plain => out.push(plain),
        }
        at = at.saturating_add(1);
    }
    out
}

fn escape(letter: Option<char>, class: bool) -> String {
    let whole = |set: &str| format!("[{set}]");
    match letter {
        Some('d') => whole("0-9"),
        Some('D') => whole("^0-9"),
        Some('w') => whole("0-9A-Za-z_"),
        Some('W') => whole("^0-9A-Za-z_"),
        Some('s') => whole(r"\t\n\f\r "),
        Some('S') => whole(r"^\t\n\f\r "),
        Some('b') if !class => r"(?-u:\b)".to_owned(),
        Some('B') if !class => r"(?-u:\B)".to_owned(),
        Some(other) => format!("\\{other}"),
        None => "\\".to_owned(),
    }
}

/// `[:alpha:]` and its like, copied whole.
fn named_class(rest: &[char], at: &mut usize) -> String {
    let text: String = rest.iter().collect();
    match text.find(":]") {
        Some(end) => {
            let name: String = text.chars().take(end.saturating_add(2)).collect();
            *at = at.saturating_add(name.chars().count());
            format!("[{name}")
        }
        None => "\\[".to_owned(),
    }
}

/// What follows a `{` makes it a repetition.
fn repeats(rest: &[char]) -> bool {
    let Some(end) = rest.iter().position(|letter| *letter == '}') else { return false };
    let inner: String = rest.iter().take(end).collect();
    let digits = |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
    match inner.split_once(',') {
        Some((low, high)) => digits(low) && (high.is_empty() || digits(high)),
        None => digits(&inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_patterns_match() {
        for (pattern, text, matches) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^[\w.]+$", "a_1.b", true),
            (r"^[[]$", "[", true),
            (r"^[]a]$", "]", true),
            (r"^[^]a]$", "]", false),
            (r"^[[:alpha:]_]+$", "ab_", true),
            (r"^[a&&b]+$", "&ab", true),
            (r"^a{2}$", "aa", true),
            (r"^{x}$", "{x}", true),
            (r"(?i)^AB$", "ab", true),
            (r"^\p{L}+$", "äß", true),
            (r"a$", "a\n", false),
            (r"\bfoo\b", "a foo b", true),
        ] {
            let found = compile(pattern).expect(pattern);
            assert_eq!(found.is_match(text), matches, "{pattern} on {text}");
        }
        assert!(compile("[a-").is_err());
    }
}
