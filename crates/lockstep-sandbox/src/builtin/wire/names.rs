//! What Go calls fields and their types where it complains, if that does not follow from the table of types. `names.txt`
//! says it: the struct, the field, the structs within that it lies in, the name of its type.

use std::collections::BTreeMap;
use std::sync::OnceLock;

const TABLE: &str = include_str!("names.txt");

/// The names of a field.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Name {
    /// The structs within: `VolumeSource.`.
    pub within: &'static str,
    of: Option<&'static str>,
}

impl Name {
    /// Those of a field of a struct.
    pub fn of(holder: &str, field: &str) -> Self {
        static READ: OnceLock<BTreeMap<(&'static str, &'static str), Name>> = OnceLock::new();
        let all = READ.get_or_init(|| TABLE.lines().filter_map(line).collect());
        all.get(&(holder, field)).copied().unwrap_or_default()
    }

    /// What its type is called, or that of what it holds.
    pub fn wanted(self, plain: &str) -> String {
        let Some(name) = self.of else { return plain.to_owned() };
        let held =
            ["[]", "map[string]"].into_iter().find_map(|many| name.strip_prefix(many).map(|of| (many, of)));
        match held {
            Some((many, of)) if !plain.starts_with(many) => of.to_owned(),
            _ => name.to_owned(),
        }
    }
}

fn line(line: &'static str) -> Option<((&'static str, &'static str), Name)> {
    let mut words = line.splitn(4, ' ').map(|word| Some(word).filter(|word| *word != "-"));
    let (holder, field, within, of) = (words.next()??, words.next()??, words.next()?, words.next()?);
    Some(((holder, field), Name { within: within.unwrap_or_default(), of }))
}
