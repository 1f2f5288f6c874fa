//! Addresses on the web.

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: String,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) query: String,
}

impl Url {
    /// Reads an absolute address, or a path from the root.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text.chars().any(|letter| letter.is_ascii_control() || letter == ' ') {
            return None;
        }
        let (scheme, rest) = match text.starts_with('/') {
            true => ("", text),
            false => text.split_once(':')?,
        };
        let named = scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
        if !named
            || (!text.starts_with('/') && !scheme.starts_with(|first: char| first.is_ascii_alphabetic()))
        {
            return None;
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(rest) => rest.find('/').map_or((rest, ""), |at| rest.split_at(at)),
            None => ("", rest),
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let port = match host.rsplit_once(':') {
            Some((_, port)) if !host.ends_with(']') => port,
            _ => "",
        };
        let closed = host.starts_with('[') == host.contains(']');
        if !closed || !port.chars().all(|letter| letter.is_ascii_digit()) {
            return None;
        }
        let owned = str::to_owned;
        Some(Self {
            scheme: scheme.to_lowercase(),
            host: owned(host),
            path: owned(path),
            query: owned(query),
        })
    }

    /// The host without its port, and without brackets.
    pub(super) fn hostname(&self) -> &str {
        match self.host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((inside, _)) => inside,
            None => self.host.split_once(':').map_or(&self.host, |(name, _)| name),
        }
    }

    pub(super) fn port(&self) -> &str {
        let after = self.host.rsplit_once(']').map_or(self.host.as_str(), |(_, after)| after);
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }

    /// What is asked for, by name.
    pub(super) fn queries(&self) -> Vec<(String, Vec<String>)> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (unescaped(name), unescaped(value));
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => found.push((name, vec![value])),
            }
        }
        found.sort();
        found
    }
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let hex: String = rest.by_ref().take(2).map(char::from).collect();
                bytes.extend(u8::from_str_radix(&hex, 16));
            }
            plain => bytes.push(plain),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let url = Url::read("https://user@[::1]:80/a/b?x=1&y=%41&x=2").expect("an address");
        assert_eq!(
            (url.scheme.as_str(), url.host.as_str(), url.hostname(), url.port()),
            ("https", "[::1]:80", "::1", "80")
        );
        assert_eq!(url.path, "/a/b");
        let both =
            |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(|v| (*v).to_owned()).collect());
        assert_eq!(url.queries(), [both("x", &["1", "2"]), both("y", &["A"])]);
        for wrong in ["", "nope", "http://a b", "http://x:y"] {
            assert_eq!(Url::read(wrong), None, "{wrong}");
        }
        assert!(Url::read("/path").is_some());
    }
}
