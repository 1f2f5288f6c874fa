//! Names as DNS allows them, and what is said of those it does not.

use super::formats::by_pattern;

const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                          alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
                          'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1123: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                          must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                          used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                         '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
                         for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn too_long(name: &str, most: usize) -> Option<String> {
    (name.len() > most).then(|| format!("must be no more than {most} bytes"))
}

/// What is wrong with a label that must begin with a letter.
pub(crate) fn label_1035(name: &str) -> Vec<String> {
    let starts = name.starts_with(|first: char| first.is_ascii_lowercase());
    let shape = (!starts || !by_pattern("shortname", name)).then(|| LABEL_1035.to_owned());
    too_long(name, 63).into_iter().chain(shape).collect()
}

/// What is wrong with a label.
pub(crate) fn label_1123(name: &str) -> Vec<String> {
    let shape = match (by_pattern("shortname", name), by_pattern("longname", name)) {
        (true, _) => None,
        (false, true) => Some("must not contain dots".to_owned()),
        (false, false) => Some(LABEL_1123.to_owned()),
    };
    too_long(name, 63).into_iter().chain(shape).collect()
}

/// What is wrong with a name of labels.
pub(crate) fn subdomain(name: &str) -> Vec<String> {
    let shape = (!by_pattern("longname", name)).then(|| SUBDOMAIN.to_owned());
    too_long(name, 253).into_iter().chain(shape).collect()
}
