//! Dialects by name, as they are said on the command line.

use lockstep_dialects::{ALL, Dialect};

/// A dialect that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialectName(&'static str);

/// One of `rbg,kthena,grove`, or `none`.
pub fn dialect(text: &str) -> Result<Option<DialectName>, String> {
    if text == "none" {
        return Ok(None);
    }
    let found = ALL.into_iter().find(|dialect| dialect.name() == text);
    let names: Vec<&str> = ALL.iter().map(|dialect| dialect.name()).collect();
    let known = || format!("there is {}, or none", names.join(", "));
    found.map(|dialect| Some(DialectName(dialect.name()))).ok_or_else(known)
}

/// One of `rbg`, `kthena`, `grove`.
pub fn original(text: &str) -> Result<DialectName, String> {
    dialect(text)?.ok_or_else(|| "there is rbg, kthena, grove".to_owned())
}

/// The dialects that were said, each once.
pub fn chosen(said: &[Option<DialectName>]) -> Vec<&'static dyn Dialect> {
    let is_said = |dialect: &&'static dyn Dialect| said.contains(&Some(DialectName(dialect.name())));
    ALL.into_iter().filter(is_said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_each_counts_once() {
        let said: Vec<_> = ["grove", "rbg", "grove"].map(|name| dialect(name).unwrap()).to_vec();
        let names: Vec<&str> = chosen(&said).iter().map(|dialect| dialect.name()).collect();
        assert_eq!(names, ["rbg", "grove"]);
        assert!(chosen(&[dialect("none").unwrap()]).is_empty());
        assert_eq!(dialect("lws"), Err("there is rbg, kthena, grove, or none".to_owned()));
    }
}
