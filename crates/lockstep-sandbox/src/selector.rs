//! Label and field selectors.

use std::collections::BTreeSet;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builtin::formats;
use crate::refusal::Refusal;

/// What is asked of the value under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Is(Vec<String>),
    IsNot(Vec<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
    /// An operator nobody knows, or a bound that is no number: nothing fulfils it.
    Never,
}

impl Test {
    /// The test an operator of an expression stands for.
    fn named(operator: &str, values: Vec<String>) -> Self {
        let bound = || values.first().and_then(|bound| bound.parse().ok());
        match operator {
            "In" => Self::Is(values),
            "NotIn" => Self::IsNot(values),
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::Absent,
            "Gt" => bound().map_or(Self::Never, Self::Above),
            "Lt" => bound().map_or(Self::Never, Self::Below),
            _ => Self::Never,
        }
    }
}

/// All of these must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector(Vec<(String, Test)>);

impl Selector {
    /// Everything is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads what stands in a query: `app=web,tier in (a,b),!old`.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let mut left = Reader { words: words(text), at: 0 };
        let mut tests = Vec::new();
        loop {
            match left.peek() {
                None => return Ok(Self(tests)),
                Some(Word::Text(_) | Word::Sign('!')) => tests.push(left.requirement()?),
                Some(other) => {
                    let why =
                        format!("found '{}', expected: !, identifier, or 'end of string'", other.shown());
                    return Err(Refusal::bad_request(why));
                }
            }
            match left.next() {
                None => return Ok(Self(tests)),
                Some(Word::Sign(',')) => {
                    if !matches!(left.peek(), Some(Word::Text(_) | Word::Sign('!'))) {
                        let why = format!("found '{}', expected: identifier after ','", left.found());
                        return Err(Refusal::bad_request(why));
                    }
                }
                Some(other) => {
                    let why = format!("found '{}', expected: ',' or 'end of string'", other.shown());
                    return Err(Refusal::bad_request(why));
                }
            }
        }
    }

    /// Reads a `LabelSelector` object. Nothing at all selects nothing; an empty one selects everything.
    pub fn of_object(selector: &Value) -> Option<Self> {
        let selector = selector.as_object()?;
        let part = |name: &str| selector.get(name).unwrap_or(&Value::Null);
        let Self(mut tests) = Self::equal(part("matchLabels"));
        tests.extend(Self::expressions(part("matchExpressions")).0);
        Some(Self(tests))
    }

    /// Each of these labels must have this value.
    pub fn equal(labels: &Value) -> Self {
        let labels = labels.as_object().into_iter().flatten();
        let test = |value: &Value| Test::Is(vec![value.as_str().unwrap_or_default().to_owned()]);
        Self(labels.map(|(key, value)| (key.clone(), test(value))).collect())
    }

    /// A list of key, operator and values.
    pub fn expressions(expressions: &Value) -> Self {
        let texts = |list: &Value| -> Vec<String> {
            let values = list.as_array().into_iter().flatten();
            values.map(|value| value.as_str().unwrap_or_default().to_owned()).collect()
        };
        let test = |expression: &Value| {
            let text = |key: &str| expression[key].as_str().unwrap_or_default();
            (text("key").to_owned(), Test::named(text("operator"), texts(&expression["values"])))
        };
        Self(expressions.as_array().into_iter().flatten().map(test).collect())
    }

    /// Requires also this of a label.
    pub fn add(&mut self, key: &str, operator: &str, value: &str) {
        self.0.push((key.to_owned(), Test::named(operator, vec![value.to_owned()])));
    }

    /// It selects an object by its labels.
    pub fn selects_object(&self, object: &Value) -> bool {
        self.selects(&object["metadata"]["labels"])
    }

    /// It selects what has these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.holds(|key| labels.get(key).map(String::as_str))
    }

    /// It selects what has these labels.
    pub fn selects(&self, labels: &Value) -> bool {
        self.holds(|key| labels.get(key).and_then(Value::as_str))
    }

    /// All tests hold of what is found under their keys.
    pub fn holds<'a>(&self, find: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|(key, test)| {
            let found = find(key);
            let is_one =
                |values: &Vec<String>| found.is_some_and(|found| values.iter().any(|value| value == found));
            let number = || found.and_then(|found| found.parse::<i64>().ok());
            match test {
                Test::Is(values) => is_one(values),
                Test::IsNot(values) => !is_one(values),
                Test::Exists => found.is_some(),
                Test::Absent => found.is_none(),
                Test::Above(least) => number().is_some_and(|number| number > *least),
                Test::Below(most) => number().is_some_and(|number| number < *most),
                Test::Never => false,
            }
        })
    }

    /// Reads a field selector: `metadata.name=x,status.phase!=Running`.
    pub fn of_fields(text: &str) -> Result<Self, Refusal> {
        let parts = text.split(',').filter(|part| !part.is_empty());
        let tests = parts.map(|part| {
            let (key, value, is) = if let Some((key, value)) = part.split_once("!=") {
                (key, value, false)
            } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (key, value, true)
            } else {
                return Err(Refusal::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let values = vec![value.to_owned()];
            Ok((key.to_owned(), if is { Test::Is(values) } else { Test::IsNot(values) }))
        });
        tests.collect::<Result<_, _>>().map(Self)
    }

    /// The only value that something may have.
    pub fn only(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|(asked, test)| match test {
            Test::Is(values) if asked == key && values.len() == 1 => values.first().map(String::as_str),
            _ => None,
        })
    }

    /// The keys that are asked for.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }
}

fn unparsed(why: &str) -> Refusal {
    Refusal::bad_request(format!("unable to parse requirement: {why}"))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Text(String),
    Sign(char),
    NotEqual,
    /// With one sign or with two.
    Equal(&'static str),
}

impl Word {
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Sign(sign) => sign.to_string(),
            Self::NotEqual => "!=".to_owned(),
            Self::Equal(sign) => (*sign).to_owned(),
        }
    }
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut left = text.chars().peekable();
    while let Some(sign) = left.next() {
        match sign {
            ' ' | '\t' | '\n' | '\r' => {}
            '=' => {
                let twice = left.next_if_eq(&'=').is_some();
                words.push(Word::Equal(if twice { "==" } else { "=" }));
            }
            '!' if left.next_if_eq(&'=').is_some() => words.push(Word::NotEqual),
            '!' | ',' | '(' | ')' | '<' | '>' => words.push(Word::Sign(sign)),
            first => {
                let mut word = String::from(first);
                while let Some(next) = left.next_if(|next| !" \t\n\r=!,()<>".contains(*next)) {
                    word.push(next);
                }
                words.push(Word::Text(word));
            }
        }
    }
    words
}

struct Reader {
    words: Vec<Word>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    fn next(&mut self) -> Option<Word> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    /// The next word, as it is written; nothing at the end.
    fn found(&self) -> String {
        self.peek().map(Word::shown).unwrap_or_default()
    }

    fn requirement(&mut self) -> Result<(String, Test), Refusal> {
        let absent = self.peek() == Some(&Word::Sign('!'));
        if absent {
            self.at += 1;
        }
        let found = self.found();
        let Some(Word::Text(key)) = self.next() else {
            return Err(unparsed(&format!("found '{found}', expected: identifier")));
        };
        check("<nil>", &key, &formats::qualified(&key))?;
        let test = match self.peek().cloned() {
            None | Some(Word::Sign(',')) if absent => Test::Absent,
            None | Some(Word::Sign(',')) => Test::Exists,
            Some(Word::Equal(_)) => Test::Is(vec![self.after()?]),
            Some(Word::NotEqual) => Test::IsNot(vec![self.after()?]),
            Some(Word::Sign('>')) => Test::Above(self.number()?),
            Some(Word::Sign('<')) => Test::Below(self.number()?),
            Some(Word::Text(word)) if word == "in" => Test::Is(self.several()?),
            Some(Word::Text(word)) if word == "notin" => Test::IsNot(self.several()?),
            Some(other) => {
                let found = other.shown();
                return Err(unparsed(&format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt")));
            }
        };
        if let Test::Is(values) | Test::IsNot(values) = &test {
            for (index, value) in values.iter().enumerate() {
                check(&format!("values[{index}][{key}]"), value, &formats::label_value(value))?;
            }
        }
        Ok((key, test))
    }

    /// The value after a sign; the empty one if there is none.
    fn after(&mut self) -> Result<String, Refusal> {
        self.at += 1;
        match self.peek().cloned() {
            Some(Word::Text(value)) => {
                self.at += 1;
                Ok(value)
            }
            None | Some(Word::Sign(',')) => Ok(String::new()),
            Some(other) => Err(unparsed(&format!("found '{}', expected: identifier", other.shown()))),
        }
    }

    fn number(&mut self) -> Result<i64, Refusal> {
        let value = self.after()?;
        value.parse().map_err(|_| {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer";
            unparsed(&format!("values[0]: Invalid value: {value:?}: {why}"))
        })
    }

    /// The values between parentheses, sorted, each of them once.
    fn several(&mut self) -> Result<Vec<String>, Refusal> {
        self.at += 1;
        let found = self.found();
        if self.next() != Some(Word::Sign('(')) {
            return Err(unparsed(&format!("found '{found}' expected: '('")));
        }
        let mut values = BTreeSet::new();
        let mut awaited = true;
        loop {
            let found = self.found();
            match self.next() {
                Some(Word::Text(value)) if awaited => {
                    values.insert(value);
                    awaited = false;
                }
                Some(Word::Sign(',')) => {
                    if awaited {
                        values.insert(String::new());
                    }
                    awaited = true;
                }
                Some(Word::Sign(')')) => {
                    if awaited {
                        values.insert(String::new());
                    }
                    return Ok(values.into_iter().collect());
                }
                _ if !awaited => return Err(unparsed(&format!("found '{found}', expected: ',' or ')'"))),
                _ if values.is_empty() => {
                    return Err(unparsed(&format!("found '{found}', expected: ',', ')' or identifier")));
                }
                _ => return Err(unparsed(&format!("found '{found}', expected: ',', or identifier"))),
            }
        }
    }
}

/// What is wrong with a key or a value.
fn check(place: &str, value: &str, wrong: &[String]) -> Result<(), Refusal> {
    match wrong {
        [] => Ok(()),
        wrong => Err(unparsed(&format!("{place}: Invalid value: {value:?}: {}", wrong.join("; ")))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_labels_are_selected() {
        let labels = json!({"app": "web", "tier": "a", "n": "5"});
        for (selector, selects) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier=a", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (x, web)", true),
            ("app notin (x,web)", false),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("n>4,n<6", true),
            ("n>5", false),
            ("app=", false),
        ] {
            let read = Selector::read(selector).expect(selector);
            assert_eq!(read.selects(&labels), selects, "{selector}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_as_a_real_server_does() {
        let message = |text: &str| Selector::read(text).map_err(|refusal| refusal.message);
        let expected =
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt".to_owned();
        assert_eq!(message("a b"), Err(expected));
        assert!(message("a in b").is_err() && message("=a").is_err() && message("a=b c=d").is_err());
    }

    #[test]
    fn selectors_of_objects() {
        let labels = json!({"app": "web"});
        let selects =
            |selector: Value| Selector::of_object(&selector).map(|selector| selector.selects(&labels));
        assert_eq!(selects(Value::Null), None);
        assert_eq!(selects(json!({})), Some(true));
        assert_eq!(selects(json!({"matchLabels": {"app": "web"}})), Some(true));
        let expression = json!({"key": "app", "operator": "NotIn", "values": ["web"]});
        assert_eq!(selects(json!({"matchExpressions": [expression]})), Some(false));
    }

    #[test]
    fn fields() {
        let selector = Selector::of_fields("metadata.name=x,status.phase!=Failed").expect("readable");
        let find =
            |phase: &'static str| move |key: &str| Some(if key == "metadata.name" { "x" } else { phase });
        assert!(selector.holds(find("Running")) && !selector.holds(find("Failed")));
        assert!(Selector::of_fields("metadata.name").is_err());
    }

    #[test]
    fn what_expressions_select() {
        let labels = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("n".to_owned(), "7".to_owned())]);
        for (expression, matches) in [
            (json!({"key": "a", "operator": "In", "values": ["0", "1"]}), true),
            (json!({"key": "a", "operator": "In", "values": ["0"]}), false),
            (json!({"key": "b", "operator": "In", "values": ["0"]}), false),
            (json!({"key": "a", "operator": "NotIn", "values": ["1"]}), false),
            (json!({"key": "b", "operator": "NotIn", "values": ["1"]}), true),
            (json!({"key": "a", "operator": "Exists"}), true),
            (json!({"key": "b", "operator": "Exists"}), false),
            (json!({"key": "b", "operator": "DoesNotExist"}), true),
            (json!({"key": "a", "operator": "DoesNotExist"}), false),
            (json!({"key": "n", "operator": "Gt", "values": ["6"]}), true),
            (json!({"key": "n", "operator": "Gt", "values": ["7"]}), false),
            (json!({"key": "n", "operator": "Lt", "values": ["8"]}), true),
            (json!({"key": "n", "operator": "Lt", "values": ["x"]}), false),
            (json!({"key": "b", "operator": "Lt", "values": ["8"]}), false),
            (json!({"key": "a", "operator": "Like"}), false),
        ] {
            let selector =
                Selector::of_object(&json!({"matchExpressions": [expression]})).expect("a selector");
            assert_eq!(selector.matches(&labels), matches, "{expression}");
        }
        assert_eq!(Selector::of_object(&Value::Null), None);
        let everything = Selector::of_object(&json!({})).expect("a selector");
        assert!(everything.is_empty() && everything.matches(&labels));
        let both =
            json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]});
        assert!(!Selector::of_object(&both).expect("a selector").matches(&labels));
    }
}
