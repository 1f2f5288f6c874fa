//! How names, labels and the like are written, and the words for what is not written so.

use std::sync::OnceLock;

use regex::Regex;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LOOSE_SUBDOMAIN: &str = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const CONFIG_KEY: &str = "[-._a-zA-Z0-9]+";
const PERCENT: &str = "[0-9]+%";
const HEADER: &str = "[-A-Za-z0-9]+";
const REASON: &str = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";

const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character";
const QUALIFIED_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character";

/// Which names objects of a kind may bear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// `example.com`, as most.
    Subdomain,
    /// `my-name`.
    Label,
    /// Anything that can stand in a path.
    Segment,
}

impl NameRule {
    /// What is wrong with a name; of one that is only the beginning of names, the end does not count.
    pub fn check(self, name: &str, beginning: bool) -> Vec<String> {
        let masked = match name.strip_suffix('-') {
            Some(rest) if beginning && !rest.is_empty() && self != Self::Segment => {
                let mut kept: Vec<char> = rest.chars().collect();
                kept.pop();
                kept.into_iter().chain(['a']).collect()
            }
            _ => name.to_owned(),
        };
        match self {
            Self::Subdomain => subdomain(&masked),
            Self::Label => label(&masked),
            Self::Segment => segment(name),
        }
    }
}

/// Whether all of a text is written like this.
fn fits(pattern: &'static str, text: &str) -> bool {
    static PATTERNS: OnceLock<Vec<(&'static str, Option<Regex>)>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| {
        let all = [
            LABEL,
            SUBDOMAIN,
            LOOSE_SUBDOMAIN,
            OLD_LABEL,
            QUALIFIED,
            LABEL_VALUE,
            CONFIG_KEY,
            PERCENT,
            HEADER,
            REASON,
        ];
        all.map(|pattern| (pattern, Regex::new(&format!("^(?:{pattern})$")).ok())).into()
    });
    let found = patterns.iter().find(|(known, _)| *known == pattern).and_then(|(_, regex)| regex.as_ref());
    found.is_some_and(|regex| regex.is_match(text))
}

fn wanted(words: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

fn at_most(number: usize) -> String {
    format!("must be no more than {number} characters")
}

fn at_most_bytes(number: usize) -> String {
    format!("must be no more than {number} bytes")
}

/// `example.com`.
pub fn subdomain(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(at_most(253));
    }
    if !fits(SUBDOMAIN, text) {
        wrong.push(wanted(SUBDOMAIN_WORDS, SUBDOMAIN, &["example.com"]));
    }
    wrong
}

/// `example.com`, where underscores are allowed.
pub fn loose_subdomain(text: &str) -> Vec<String> {
    let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and \
        must start and end with an alphanumeric character";
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(at_most(253));
    }
    if !fits(LOOSE_SUBDOMAIN, text) {
        wrong.push(wanted(words, LOOSE_SUBDOMAIN, &["example.com"]));
    }
    wrong
}

/// `my-name`.
pub fn label(text: &str) -> Vec<String> {
    let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
        and end with an alphanumeric character";
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(at_most(63));
    }
    if !fits(LABEL, text) {
        let dots = fits(SUBDOMAIN, text);
        wrong.push(if dots {
            "must not contain dots".to_owned()
        } else {
            wanted(words, LABEL, &["my-name", "123-abc"])
        });
    }
    wrong
}

/// `my-name`, which begins with a letter.
pub fn old_label(text: &str) -> Vec<String> {
    let words = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
        character, and end with an alphanumeric character";
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(at_most(63));
    }
    if !fits(OLD_LABEL, text) {
        wrong.push(wanted(words, OLD_LABEL, &["my-name", "abc-123"]));
    }
    wrong
}

/// Part of a path.
pub fn segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    ['/', '%'].iter().filter(|c| text.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// `example.com/My-name` or `My-name`: keys of labels and much else.
pub fn qualified(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    let examples = ["MyName", "my.name", "123-abc"];
    let mut wrong = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                // These words are of another hand.
                let bytes =
                    subdomain(prefix).into_iter().map(|why| why.replace("253 characters", "253 bytes"));
                wrong.extend(bytes.map(|why| format!("prefix part {why}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                wanted(QUALIFIED_WORDS, QUALIFIED, &examples)
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push(format!("name part {}", at_most_bytes(63)));
    }
    if !fits(QUALIFIED, name) {
        wrong.push(format!("name part {}", wanted(QUALIFIED_WORDS, QUALIFIED, &examples)));
    }
    wrong
}

/// The value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let words = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
        start and end with an alphanumeric character";
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(at_most_bytes(63));
    }
    if !fits(LABEL_VALUE, text) {
        wrong.push(wanted(words, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
    }
    wrong
}

/// A key of a ConfigMap or a Secret.
pub fn config_key(text: &str) -> Vec<String> {
    let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(at_most(253));
    }
    if !fits(CONFIG_KEY, text) {
        wrong.push(wanted(words, CONFIG_KEY, &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." | ".." => wrong.push(format!("must not be '{text}'")),
        text if text.starts_with("..") => wrong.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrong
}

/// A variable of the environment.
pub fn variable(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    let plain = text.chars().all(|c| matches!(c, ' '..='~') && c != '=');
    if plain {
        return Vec::new();
    }
    let words =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    vec![words.to_owned()]
}

/// `25%`.
pub fn percent(text: &str) -> Vec<String> {
    if fits(PERCENT, text) {
        return Vec::new();
    }
    let words = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![wanted(words, PERCENT, &["1%", "93%"])]
}

/// The name of an HTTP header.
pub fn header(text: &str) -> Vec<String> {
    if fits(HEADER, text) {
        return Vec::new();
    }
    let words = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![wanted(words, HEADER, &["X-Header-Name"])]
}

/// The reason of a condition.
pub fn condition_reason(text: &str) -> Vec<String> {
    if fits(REASON, text) {
        return Vec::new();
    }
    let words = "a condition reason must start with alphabetic character, optionally followed by a string of \
        alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
    vec![wanted(words, REASON, &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"])]
}

/// The name of a port.
pub fn port_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut add = |is: bool, words: &str| {
        if is {
            wrong.push(words.to_owned());
        }
    };
    let charset = !text.is_empty() && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-'));
    add(text.len() > 15, &at_most(15));
    add(!charset, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    add(!text.contains(|c: char| c.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    add(text.contains("--"), "must not contain consecutive hyphens");
    add(text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen");
    wrong
}

/// The number of a port.
pub fn port(number: i64) -> Vec<String> {
    between(number, 1, 65_535)
}

/// A number within bounds.
pub fn between(number: i64, least: i64, most: i64) -> Vec<String> {
    if (least..=most).contains(&number) {
        return Vec::new();
    }
    vec![format!("must be between {least} and {most}, inclusive")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_names() {
        type Rule = fn(&str) -> Vec<String>;
        let long = "a".repeat(64);
        let rules: [(Rule, &str, usize); 21] = [
            (subdomain, "a.b-c.d", 0),
            (subdomain, "A", 1),
            (subdomain, "a_b", 1),
            (label, "a-b", 0),
            (label, "a.b", 1),
            (label, &long, 1),
            (old_label, "1a", 1),
            (qualified, "example.com/A_b.c", 0),
            (qualified, "/a", 1),
            (qualified, "a/b/c", 1),
            (qualified, "", 2),
            (qualified, "A.com/x", 1),
            (label_value, "", 0),
            (label_value, "-a", 1),
            (config_key, "a.b", 0),
            (config_key, "..a", 1),
            (config_key, "a/b", 1),
            (variable, "A=B", 1),
            (variable, "a-b.c 1", 0),
            (port_name, "a--b", 1),
            (port_name, "1", 1),
        ];
        for (rule, text, number) in rules {
            assert_eq!(rule(text).len(), number, "{text}: {:?}", rule(text));
        }
    }

    #[test]
    fn the_end_of_a_beginning_does_not_count() {
        assert!(NameRule::Subdomain.check("web-", true).is_empty());
        assert!(!NameRule::Subdomain.check("web-", false).is_empty());
        assert!(!NameRule::Subdomain.check("-", true).is_empty());
        assert!(NameRule::Segment.check("system:x", false).is_empty());
        assert_eq!(NameRule::Segment.check("a/b", false), ["may not contain '/'"]);
    }
}
