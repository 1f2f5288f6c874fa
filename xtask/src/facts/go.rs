//! Reading the tags of Go structs: how the fields of a message are called in JSON, and which are left out there.

use std::collections::BTreeMap;

/// The fields of a struct, by their number in protobuf.
pub type Struct = BTreeMap<u32, Tags>;

/// What is said about a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tags {
    /// Its name in JSON; empty if its own fields take its place.
    pub json: String,
    /// It is left out of JSON if it is empty.
    pub omit_empty: bool,
    /// It is left out of JSON if all of it is zero.
    pub omit_zero: bool,
    /// It is a pointer: it can be absent.
    pub pointer: bool,
}

/// The structs of a Go file, by name.
pub fn structs(text: &str) -> BTreeMap<String, Struct> {
    let mut found = BTreeMap::new();
    let mut open: Option<(String, Struct)> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("type ").and_then(|rest| rest.strip_suffix(" struct {")) {
            open = Some((name.to_owned(), Struct::new()));
        } else if line == "}" {
            found.extend(open.take());
        } else if let Some((_, fields)) = &mut open {
            fields.extend(field(line.trim()));
        }
    }
    found
}

/// `Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"``. Embedded fields have no name before the type.
fn field(line: &str) -> Option<(u32, Tags)> {
    if line.starts_with("//") {
        return None;
    }
    let (declared, tags) = line.split_once('`')?;
    let number = tag(tags, "protobuf")?.split(',').nth(1)?.parse().ok()?;
    let mut json = tag(tags, "json")?.split(',');
    let name = json.next()?.to_owned();
    let options: Vec<&str> = json.collect();
    let kind = declared.split_whitespace().last()?;
    Some((
        number,
        Tags {
            json: name,
            omit_empty: options.contains(&"omitempty"),
            omit_zero: options.contains(&"omitzero"),
            pointer: kind.starts_with('*'),
        },
    ))
}

fn tag<'a>(tags: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tags.split_once(&format!("{name}:\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// The name of the group in a `register.go`.
pub fn group_name(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("const GroupName = \"")?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
type Text string

type Thing struct {
	metav1.TypeMeta `json:""`
	// A comment `json:"x" protobuf:"bytes,9,opt,name=x"`
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	Count *int32 `json:"count" protobuf:"varint,2,opt,name=count"`
	Source `json:"" protobuf:"bytes,3,opt,name=source"`
	Since Time `json:"since,omitempty,omitzero" protobuf:"bytes,4,opt,name=since"`
}
"#;

    #[test]
    fn tags_of_fields() {
        let found = structs(TEXT);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["Thing"]);
        let tags = |json: &str, omit_empty, omit_zero, pointer| Tags {
            json: json.to_owned(),
            omit_empty,
            omit_zero,
            pointer,
        };
        let wanted = [
            (1, tags("name", true, false, false)),
            (2, tags("count", false, false, true)),
            (3, tags("", false, false, false)),
            (4, tags("since", true, true, false)),
        ];
        assert_eq!(found["Thing"], Struct::from(wanted));
    }

    #[test]
    fn names_of_groups() {
        assert_eq!(group_name("package v1\n\nconst GroupName = \"apps\"\n"), Some("apps"));
        assert_eq!(group_name("const GroupName = \"\"\n"), Some(""));
        assert_eq!(group_name("package v1\n"), None);
    }
}
