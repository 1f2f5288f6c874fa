//! JSON paths, as the columns of custom kinds use them: `.spec.x`, `.a['b']`, `.a.b[0].c`, `.metadata.labels.a\.b`,
//! `.status.conditions[?(@.type=="Ready")].status`.

use std::cmp::Ordering;

use serde_json::Value;

/// A path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// `.name`: of every map.
    Field(String),
    /// `.*`: all there is.
    All,
    /// `[2]`, `[1:3]`, `[*]`: of every list.
    Slice(Slice),
    /// `[?(…)]`: the items of every list for which it holds.
    Filter(Filter),
    /// `"text"`, `5`, `true`.
    Constant(Value),
}

/// What is not told is everything: from the first, to the last, by ones.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slice {
    from: Option<i64>,
    to: To,
    by: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum To {
    End,
    /// Before this one.
    Index(i64),
    /// One item only.
    Next,
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: JsonPath,
    /// How it compares with what. Without, it is enough that the left is there.
    right: Option<(Operator, JsonPath)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Reads a path; nothing if it cannot be understood.
    pub fn read(mut rest: &str) -> Option<Self> {
        let mut steps = Vec::new();
        while let Some(first) = rest.chars().next() {
            rest = match first {
                // The current object, which is where every path begins.
                ' ' | '@' | '$' => &rest[1..],
                '.' if !rest.starts_with("..") => field(&rest[1..], &mut steps),
                '[' if rest.starts_with("[?(") => filter(&rest[3..], &mut steps)?,
                '[' => brackets(&rest[1..], &mut steps)?,
                '"' | '\'' => quoted(rest, first, &mut steps)?,
                '+' | '-' | '0'..='9' | 't' | 'f' => constant(rest, &mut steps)?,
                _ => return None,
            };
        }
        Some(Self(steps))
    }

    /// What lies there, seen from a value; nothing if the path does not fit the value.
    pub fn find<'a>(&'a self, from: &'a Value) -> Option<Vec<&'a Value>> {
        self.0.iter().try_fold(vec![from], |values, step| step.walk(values))
    }
}

/// Up to the next `.`, `[` and the like, unless a backslash stands before it.
fn field<'a>(text: &'a str, steps: &mut Vec<Step>) -> &'a str {
    let mut escaped = false;
    let ends = |character: char| {
        let ends =
            !escaped && matches!(character, ' ' | '\t' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}');
        escaped = !escaped && character == '\\';
        ends
    };
    let (name, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
    steps.push(match name {
        "*" => Step::All,
        _ => Step::Field(name.replace('\\', "")),
    });
    rest
}

/// An index, a slice or a quoted key.
fn brackets<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (inner, rest) = text.split_once(']')?;
    let key = inner.strip_prefix('\'').and_then(|key| key.strip_suffix('\''));
    match key {
        Some(key) => steps.extend(JsonPath::read(&format!(".{key}"))?.0),
        None => steps.push(Step::Slice(Slice::read(inner)?)),
    }
    Some(rest)
}

/// The end is the first `)]` outside quotes.
fn filter<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (mut quote, mut before) = (None, ' ');
    let end = text.find(|character| {
        let escaped = std::mem::replace(&mut before, character) == '\\';
        match quote {
            None if matches!(character, '"' | '\'') => quote = Some(character),
            Some(open) if character == open && !escaped => quote = None,
            _ => {}
        }
        quote.is_none() && character == ')'
    })?;
    let rest = text[end..].strip_prefix(")]")?;
    steps.push(Step::Filter(Filter::read(&text[..end])?));
    Some(rest)
}

fn quoted<'a>(text: &'a str, quote: char, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (mut inner, mut escaped) = (String::new(), false);
    for (index, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => {
                inner.push(character);
                escaped = false;
            }
            '\\' => escaped = true,
            _ if character == quote => {
                steps.push(Step::Constant(inner.into()));
                return Some(&text[index + 1..]);
            }
            _ => inner.push(character),
        }
    }
    None
}

fn constant<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let end = text.find(|character: char| !matches!(character, '+' | '-' | '.' | '0'..='9' | 'a'..='z'));
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    steps.push(Step::Constant(serde_json::from_str(word.trim_start_matches('+')).ok()?));
    Some(rest)
}

impl Slice {
    fn read(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self { from: None, to: To::End, by: None });
        }
        let number = |part: &str| match part {
            "" => Some(None),
            digits => digits.parse().ok().map(Some),
        };
        let parts: Vec<Option<i64>> = text.split(':').map(number).collect::<Option<_>>()?;
        let to = |index: Option<i64>| index.map_or(To::End, To::Index);
        match parts.as_slice() {
            [from] => Some(Self { from: *from, to: To::Next, by: None }),
            [from, end] => Some(Self { from: *from, to: to(*end), by: None }),
            [from, end, by] => Some(Self { from: *from, to: to(*end), by: *by }),
            _ => None,
        }
    }

    /// Nothing if it reaches beyond the list. Negative numbers count from the end.
    fn of<'a>(&self, items: &'a [Value]) -> Option<Vec<&'a Value>> {
        let length = i64::try_from(items.len()).ok()?;
        let counted = |index: i64| if index < 0 { index + length } else { index };
        let from = counted(self.from.unwrap_or(0));
        let to = match self.to {
            To::End => length,
            To::Index(index) => counted(index),
            To::Next => from + 1,
        };
        if from == to {
            return Some(Vec::new());
        }
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        let by = usize::try_from(self.by.unwrap_or(1)).ok().filter(|by| *by > 0)?;
        let found = items.get(from..to).filter(|found| !found.is_empty())?;
        Some(found.iter().step_by(by).collect())
    }
}

impl Filter {
    fn read(text: &str) -> Option<Self> {
        let is_sign = |character: char| matches!(character, '!' | '<' | '>' | '=');
        let Some(start) = text.find(is_sign) else {
            return Some(Self { left: JsonPath::read(text)?, right: None });
        };
        let (left, rest) = text.split_at(start);
        let (sign, right) = rest.split_at(rest.find(|character| !is_sign(character))?);
        let operator = match sign {
            "==" => Operator::Equal,
            "!=" => Operator::Unequal,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => return None,
        };
        Some(Self { left: JsonPath::read(left)?, right: Some((operator, JsonPath::read(right)?)) })
    }

    /// Nothing if the two sides cannot be compared.
    fn holds(&self, item: &Value) -> Option<bool> {
        let left = self.left.find(item);
        let Some((operator, right)) = &self.right else {
            return Some(left.is_some_and(|found| !found.is_empty()));
        };
        match (left?.as_slice(), right.find(item)?.as_slice()) {
            ([], _) | (_, []) => Some(false),
            ([left], [right]) => operator.holds(left, right),
            _ => None,
        }
    }
}

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) if matches!(self, Self::Equal | Self::Unequal) => {
                left.cmp(right)
            }
            // Whole numbers are compared with whole ones only, and others with others.
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?)?,
                _ => return None,
            },
            _ => return None,
        };
        Some(match self {
            Self::Equal => order == Ordering::Equal,
            Self::Unequal => order != Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
        })
    }
}

impl Step {
    fn walk<'a>(&'a self, values: Vec<&'a Value>) -> Option<Vec<&'a Value>> {
        match self {
            Self::Field(name) => Some(values.into_iter().filter_map(|value| value.get(name)).collect()),
            Self::All => Some(values.into_iter().flat_map(all).collect()),
            Self::Constant(value) => Some(vec![value]),
            Self::Slice(slice) => {
                let lists = values.into_iter().filter(|value| !value.is_null());
                let found: Option<Vec<_>> = lists.map(|value| slice.of(value.as_array()?)).collect();
                Some(found?.concat())
            }
            Self::Filter(filter) => {
                let lists: Option<Vec<_>> = values.into_iter().map(Value::as_array).collect();
                let items = lists?.into_iter().flatten();
                let kept = items.filter_map(|item| match filter.holds(item) {
                    Some(holds) => holds.then_some(Some(item)),
                    None => Some(None),
                });
                kept.collect()
            }
        }
    }
}

fn all(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({
            "a": {"b": [{"c": 1}, {"c": 2}, {"c": 3}], "d.e": "dotted", "n": null},
            "labels": {"x.io/y": "z"},
            "conditions": [
                {"type": "Ready", "status": "True", "n": 5, "ok": true}, {"type": "Old", "status": "False"},
            ],
        })
    }

    #[test]
    fn what_paths_lead_to() {
        let object = object();
        for (path, found) in [
            (".a.b[0].c", json!([1])),
            ("$.a.b[-1].c", json!([3])),
            (".a.b[*].c", json!([1, 2, 3])),
            (".a.b[1:].c", json!([2, 3])),
            (".a.b[:2].c", json!([1, 2])),
            (".a.b[0:3:2].c", json!([1, 3])),
            (".a.b[1:1].c", json!([])),
            (".a.b[7]", json!("misfit")),
            (".a.b.c", json!([])),
            (".a[0]", json!("misfit")),
            (".a.n[0]", json!([])),
            (".a.n", json!([null])),
            (".a.n.x", json!([])),
            (r".a.d\.e", json!(["dotted"])),
            (r".a['d\.e']", json!(["dotted"])),
            (".a['b'][2].c", json!([3])),
            (".labels.*", json!(["z"])),
            (r".labels.x\.io/y", json!(["z"])),
            (".missing.field", json!([])),
            (".", json!([])),
            (r#".conditions[?(@.type=="Ready")].status"#, json!(["True"])),
            (r#".conditions[?(@.type == 'Old')].status"#, json!(["False"])),
            (r#".conditions[?(@.type!="Ready")].status"#, json!(["False"])),
            (r#".conditions[?(@.type=="a)b")].status"#, json!([])),
            (r#".conditions[?(@.type=="a\")b")].status"#, json!([])),
            (".conditions[?(@.n)].type", json!(["Ready"])),
            (".conditions[?(@.n>=5)].type", json!(["Ready"])),
            (".conditions[?(@.n<5)].type", json!([])),
            (".conditions[?(@.ok==true)].type", json!(["Ready"])),
            (".conditions[?(@.n==5.0)].type", json!("misfit")),
            (".conditions[?(@.n=='5')].type", json!("misfit")),
            (".a[?(@.c==1)]", json!("misfit")),
            (".missing[?(@.c==1)]", json!([])),
        ] {
            let read = JsonPath::read(path).unwrap_or_else(|| panic!("{path} is a path"));
            let seen = read.find(&object).map_or(json!("misfit"), |values| json!(values));
            assert_eq!(seen, found, "{path}");
        }
    }

    #[test]
    fn what_is_no_path() {
        for text in [".a[", ".a[b]", ".a[1:2:3:4]", ".a[?(@.b==)]", ".a[?(@.b=~1)]", ".a[?(@.b]", ".a{", "'a"]
        {
            assert_eq!(JsonPath::read(text), None, "{text}");
        }
    }
}
