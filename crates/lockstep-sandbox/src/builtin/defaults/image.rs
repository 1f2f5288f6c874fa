//! Names of images, as far as it matters whether they name the latest one.

use std::sync::OnceLock;

use regex::Regex;

const DOMAIN: &str = r"(?:[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?";
const PART: &str = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*";
const TAG: &str = r"[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}";
const DIGEST: &str = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";

/// Whether an image is the latest of its name: it says so, or says nothing. What is no image is none.
pub(super) fn is_latest(image: &str) -> bool {
    let (domain, rest) = match image.split_once('/') {
        Some((first, rest)) if is_domain(first) => (first, rest),
        _ => ("", image),
    };
    let named = (domain.is_empty() || matches(&DOMAIN_ONLY, DOMAIN, domain)).then(|| read(rest)).flatten();
    named.is_some_and(|(tag, digest)| match tag {
        Some(tag) => tag == "latest",
        None => !digest,
    })
}

/// The first part is a host, not part of the name, where it cannot be that.
fn is_domain(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first
}

/// The tag, and whether there is a digest.
fn read(name: &str) -> Option<(Option<&str>, bool)> {
    static READ: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern =
        READ.get_or_init(|| Regex::new(&format!("^({PART}(?:/{PART})*)(?::({TAG}))?(@{DIGEST})?$")).ok());
    let found = pattern.as_ref()?.captures(name)?;
    let hex = |text: &str| text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    let name = found.get(1).map_or("", |part| part.as_str());
    (!hex(name)).then(|| (found.get(2).map(|tag| tag.as_str()), found.get(3).is_some()))
}

static DOMAIN_ONLY: OnceLock<Option<Regex>> = OnceLock::new();

fn matches(cell: &OnceLock<Option<Regex>>, pattern: &str, text: &str) -> bool {
    let pattern = cell.get_or_init(|| Regex::new(&format!("^{pattern}$")).ok());
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn which_images_are_the_latest() {
        let digest = "a".repeat(64);
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.25", false),
            ("registry.example:5000/team/app", true),
            ("registry.example:5000/team/app:v1", false),
            ("localhost/app:latest", true),
            (&format!("nginx@sha256:{digest}"), false),
            (&format!("nginx:latest@sha256:{digest}"), true),
            ("Nginx", false),
            ("", false),
            ("a b", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }
}
