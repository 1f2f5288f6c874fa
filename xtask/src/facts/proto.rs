//! Reading `.proto` files, as far as those of Kubernetes go.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// A file.
#[derive(Debug)]
pub struct File {
    /// Its package: `k8s.io.api.core.v1`.
    pub package: String,
    /// Its messages, by name without the package.
    pub messages: BTreeMap<String, Vec<Field>>,
}

/// A field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its number.
    pub number: u32,
    /// Its name here; in JSON it may have another one.
    pub name: String,
    /// `string`, `int32` and the like, or the full name of a message. Of a map, that of its values.
    pub kind: String,
    /// How many there can be.
    pub many: Many,
}

/// How many values a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Many {
    /// One at most.
    One,
    /// A list.
    List,
    /// A map; keys are texts.
    Map,
}

const SCALARS: &[&str] = &["string", "bytes", "bool", "int32", "int64"];

impl File {
    /// Reads a file.
    pub fn read(text: &str) -> Result<Self> {
        let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        let package = lines().find_map(|line| line.strip_prefix("package ")?.strip_suffix(';'));
        let package = package.context("no package is named")?.to_owned();
        let mut messages: BTreeMap<String, Vec<Field>> = BTreeMap::new();
        let mut open: Option<String> = None;
        for line in lines() {
            match &open {
                None => {
                    open = line
                        .strip_prefix("message ")
                        .and_then(|rest| rest.strip_suffix(" {"))
                        .map(str::to_owned)
                }
                Some(name) if line == "}" => {
                    messages.entry(name.clone()).or_default();
                    open = None;
                }
                Some(name) if line.contains(" = ") => {
                    let field = field(line, &package).with_context(|| format!("{package}.{name}: {line}"))?;
                    messages.entry(name.clone()).or_default().push(field);
                }
                Some(_) => {}
            }
        }
        Ok(Self { package, messages })
    }
}

/// `optional string name = 1;`, `repeated Container containers = 2;`, `map<string, string> labels = 11;`
fn field(line: &str, package: &str) -> Result<Field> {
    let (declared, number) = line.split_once(" = ").context("no number")?;
    let number = number.trim_end_matches(';').parse()?;
    let (kind, name) = declared.rsplit_once(' ').context("no type")?;
    let (many, kind) = match kind.split_once(' ') {
        Some(("optional", kind)) => (Many::One, kind),
        Some(("repeated", kind)) => (Many::List, kind),
        Some(("map<string,", kind)) => (Many::Map, kind.trim_end_matches('>')),
        _ => bail!("it is neither optional nor repeated nor a map of texts"),
    };
    let kind = match kind.strip_prefix('.') {
        Some(full) => full.to_owned(),
        None if SCALARS.contains(&kind) => kind.to_owned(),
        None => format!("{package}.{kind}"),
    };
    Ok(Field { number, name: name.to_owned(), kind, many })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        // A comment = 1;
        package a.b.v1;
        message Empty {
        }
        message One {
          // name of it = 7
          optional string name = 1;
          repeated Two twos = 2;
          map<string, .c.d.Three> threes = 3;
        }
    ";

    #[test]
    fn messages_and_fields() {
        let file = File::read(TEXT).expect("readable");
        assert_eq!(file.package, "a.b.v1");
        let shown: Vec<String> = file.messages["One"]
            .iter()
            .map(|field| format!("{} {} {} {:?}", field.number, field.name, field.kind, field.many))
            .collect();
        assert_eq!(shown, ["1 name string One", "2 twos a.b.v1.Two List", "3 threes c.d.Three Map"]);
        assert!(file.messages["Empty"].is_empty());
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let text = "package a;\nmessage One {\n  map<int32, string> x = 1;\n}\n";
        assert!(File::read(text).is_err());
        assert!(File::read("message One {\n}\n").is_err());
    }
}
