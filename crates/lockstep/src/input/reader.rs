//! Reads a file field by field and reports everything that is wrong with it, not only the first thing.

use lockstep_api::{Document, Duration, Problem};
use lockstep_core::number::IntOrPercent;
use lockstep_core::simulate::faults::Span;
use lockstep_core::time::Millis;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::complaint::{BadInput, Complaint};
use crate::show::words;

/// A file that is being read.
pub struct Reader<'a> {
    file: &'a str,
    document: &'a Document,
    complaints: Vec<Complaint>,
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Place<'v> {
    /// The value.
    pub value: &'v Value,
    path: Vec<String>,
}

impl<'v> Place<'v> {
    /// The whole document.
    pub fn root(value: &'v Value) -> Self {
        Self { value, path: Vec::new() }
    }

    /// A field, if it is there and not null.
    pub fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.below(key, value))
    }

    fn below<'w>(&self, name: &str, value: &'w Value) -> Place<'w> {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Place { value, path }
    }

    /// The items of a list; none if it is not one.
    pub fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().enumerate().map(|(i, item)| self.below(&i.to_string(), item)).collect()
    }

    /// The entries of a map; none if it is not one.
    pub fn entries(&self) -> Vec<(&'v str, Self)> {
        let map: Option<&'v Map<String, Value>> = self.value.as_object();
        let entries = map.into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), self.below(key, value))).collect()
    }

    /// `changes[0].at`.
    pub fn name(&self) -> String {
        let mut text = String::new();
        for name in &self.path {
            if name.bytes().all(|b| b.is_ascii_digit()) {
                text.push_str(&format!("[{name}]"));
            } else {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(name);
            }
        }
        text
    }
}

impl<'a> Reader<'a> {
    /// Begins to read.
    pub fn new(file: &'a str, document: &'a Document) -> Self {
        Self { file, document, complaints: Vec::new() }
    }

    /// Something is wrong at a place.
    pub fn refuse(&mut self, at: &Place<'_>, message: impl Into<String>) {
        let value = match at.value {
            Value::Array(_) | Value::Object(_) | Value::Null => None,
            scalar => Some(scalar.to_string()),
        };
        let line = self.document.line(&at.path);
        let problem = Problem { path: at.name(), value, message: message.into(), line };
        self.complaints.push(Complaint::error(self.file, problem));
    }

    /// A map with these fields and no others.
    pub fn map(&mut self, at: &Place<'_>, fields: &[&str]) -> bool {
        let Some(map) = at.value.as_object() else {
            self.refuse(at, format!("must be a map with {}", words::list(fields)));
            return false;
        };
        for key in map.keys().filter(|key| !fields.contains(&key.as_str())) {
            let place = at.below(key, &Value::Null);
            self.refuse(&place, format!("no such field; there is {}", words::list(fields)));
        }
        true
    }

    /// A list.
    pub fn list<'v>(&mut self, at: &Place<'v>) -> Vec<Place<'v>> {
        if !at.value.is_array() {
            self.refuse(at, "must be a list");
        }
        at.items()
    }

    /// A whole number from 0 up.
    pub fn number(&mut self, at: &Place<'_>) -> Option<u32> {
        let number = at.value.as_u64().and_then(|n| u32::try_from(n).ok());
        if number.is_none() {
            self.refuse(at, "must be a whole number from 0 up");
        }
        number
    }

    /// `true` or `false`.
    pub fn flag(&mut self, at: &Place<'_>) -> Option<bool> {
        if at.value.as_bool().is_none() {
            self.refuse(at, "must be true or false");
        }
        at.value.as_bool()
    }

    /// Text.
    pub fn text<'v>(&mut self, at: &Place<'v>) -> Option<&'v str> {
        if at.value.as_str().is_none() {
            self.refuse(at, "must be text");
        }
        at.value.as_str()
    }

    /// One of a few words, each with its meaning.
    pub fn word<T: Copy>(&mut self, at: &Place<'_>, words: &[(&str, T)]) -> Option<T> {
        let found = at.value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let known = words::list(&known).replace(" and ", " or ");
            self.refuse(at, format!("must be {known}"));
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// A length of time; zero is one.
    pub fn duration(&mut self, at: &Place<'_>) -> Option<Millis> {
        let found = at.value.as_str().and_then(duration);
        if found.is_none() {
            self.refuse(at, "must be a length of time such as 30s, 5m or 1h30m");
        }
        found
    }

    /// How often something happens: a length of time that is not too short.
    pub fn often(&mut self, at: &Place<'_>) -> Option<Millis> {
        let time = self.duration(at)?;
        if time < Millis::seconds(1) {
            self.refuse(at, "must be at least 1s");
        }
        Some(time)
    }

    /// A whole number or a percentage.
    pub fn int_or_percent(&mut self, at: &Place<'_>) -> Option<IntOrPercent> {
        let found = serde_json::from_value(at.value.clone()).ok();
        if found.is_none() {
            self.refuse(at, "must be a whole number from 0 up or a percentage such as 25%");
        }
        found
    }

    /// A length of time, or one between two: `30s..2m`.
    pub fn span(&mut self, at: &Place<'_>) -> Option<Span> {
        let found = at.value.as_str().and_then(|text| match text.split_once("..") {
            None => duration(text).map(Span::fixed),
            Some((min, max)) => Some(Span { min: duration(min.trim())?, max: duration(max.trim())? }),
        });
        match found {
            None => {
                self.refuse(at, "must be a length of time such as 5m, or one between two such as 30s..2m")
            }
            Some(span) if span.min > span.max => {
                self.refuse(at, format!("{} is longer than {}", span.min, span.max));
                return None;
            }
            Some(_) => {}
        }
        found
    }

    /// A part that is read as a whole, in the engine's own form.
    pub fn whole<T: DeserializeOwned>(&mut self, at: &Place<'_>, value: Value) -> Option<T> {
        match serde_path_to_error::deserialize(&value) {
            Ok(found) => Some(found),
            Err(error) => {
                let mut place = at.clone();
                for segment in error.path() {
                    let name = segment.to_string();
                    place.path.push(name.trim_matches(['[', ']']).to_owned());
                }
                place.value = &Value::Null;
                self.refuse(&place, error.inner().to_string());
                None
            }
        }
    }

    /// The result, or everything that is wrong.
    pub fn close<T>(mut self, result: Option<T>) -> Result<T, BadInput> {
        self.complaints.sort_by_key(|complaint| complaint.problem.line.unwrap_or(usize::MAX));
        match result {
            Some(result) if self.complaints.is_empty() => Ok(result),
            _ => Err(BadInput(self.complaints)),
        }
    }
}

fn duration(text: &str) -> Option<Millis> {
    let zero = matches!(text, "0" | "0s" | "0m" | "0ms" | "0h");
    if zero { Some(Millis(0)) } else { text.parse::<Duration>().ok().map(|duration| duration.0) }
}
