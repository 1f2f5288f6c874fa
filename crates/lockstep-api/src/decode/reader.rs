//! The small reader under the decoder: fields, scalars, lists and maps that report instead of stopping.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use lockstep_core::number::IntOrPercent;

use crate::bounds::{LONGEST_LIST, MOST};
use crate::duration::{Duration, NotADuration};
use crate::findings::Findings;
use crate::path::Path;
use crate::words::{join_or, nearest};
use crate::yaml::{Data, Entry, Node};

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub node: &'a Node,
    pub path: Path,
}

/// A word out of a short list.
pub(super) trait Choice: Copy + 'static {
    /// The words and what they mean.
    const WORDS: &'static [(&'static str, Self)];
}

impl<'a> Place<'a> {
    pub fn text(&self, found: &mut Findings) -> Option<String> {
        match &self.node.data {
            Data::Text(text) => Some(text.clone()),
            Data::Bool(_) | Data::Number(_) => self.refuse(found, "must be text; put it in quotes"),
            _ => self.refuse(found, &format!("must be text, not {}", self.node.kind())),
        }
    }

    pub fn boolean(&self, found: &mut Findings) -> Option<bool> {
        match self.node.data {
            Data::Bool(value) => Some(value),
            _ => self.refuse(found, "must be true or false"),
        }
    }

    pub fn int(&self, found: &mut Findings, accepted: RangeInclusive<u32>) -> Option<u32> {
        let number = match &self.node.data {
            Data::Number(number) => number.as_u64().and_then(|n| u32::try_from(n).ok()),
            _ => None,
        };
        match number.filter(|n| accepted.contains(n)) {
            Some(number) => Some(number),
            None => {
                let message =
                    format!("must be a whole number from {} to {}", accepted.start(), accepted.end());
                self.refuse(found, &message)
            }
        }
    }

    /// A count, or a percentage up to `most` percent.
    pub fn int_or_percent(&self, found: &mut Findings, most: Option<u32>) -> Option<IntOrPercent> {
        let value = match &self.node.data {
            Data::Number(n) => n.as_u64().and_then(|n| u32::try_from(n).ok()).map(IntOrPercent::Int),
            Data::Text(text) => text.parse().ok(),
            _ => None,
        };
        match value {
            Some(IntOrPercent::Int(n)) if n > MOST => {
                self.refuse(found, &format!("must be a whole number from 0 to {} or a percentage", MOST))
            }
            Some(IntOrPercent::Percent(p)) if most.is_some_and(|most| p > most) => {
                self.refuse_number(found, most)
            }
            Some(value) => Some(value),
            None => self.refuse_number(found, most),
        }
    }

    fn refuse_number<T>(&self, found: &mut Findings, most: Option<u32>) -> Option<T> {
        match most {
            Some(most) => {
                self.refuse(found, &format!("must be a whole number or a percentage up to {most}%"))
            }
            None => self.refuse(found, "must be a whole number or a percentage"),
        }
    }

    pub fn duration(&self, found: &mut Findings) -> Option<Duration> {
        match self.node.as_text().and_then(|text| text.parse().ok()) {
            Some(duration) => Some(duration),
            None => self.refuse(found, &NotADuration.to_string()),
        }
    }

    pub fn choice<T: Choice>(&self, found: &mut Findings) -> Option<T> {
        let chosen = self.node.as_text().and_then(|text| T::WORDS.iter().find(|(word, _)| *word == text));
        match chosen {
            Some((_, value)) => Some(*value),
            None => {
                let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
                self.refuse(found, &format!("must be {}", join_or(&words)))
            }
        }
    }

    pub fn list(&self, found: &mut Findings) -> Option<Vec<Place<'a>>> {
        match &self.node.data {
            Data::List(items) => {
                if items.len() > LONGEST_LIST {
                    let message = format!("has {} items; up to {LONGEST_LIST} are accepted", items.len());
                    found.error(&self.path, message);
                }
                let place = |(i, node)| Place { node, path: self.path.index(i) };
                Some(items.iter().take(LONGEST_LIST).enumerate().map(place).collect())
            }
            _ => self.refuse(found, &format!("must be a list, not {}", self.node.kind())),
        }
    }

    pub fn texts(&self, found: &mut Findings) -> Vec<String> {
        let items = self.list(found).unwrap_or_default();
        items.iter().map(|item| item.text(found).unwrap_or_default()).collect()
    }

    /// A map with keys of the user's own making.
    pub fn map<T>(
        &self,
        found: &mut Findings,
        mut value: impl FnMut(&Place<'a>, &mut Findings) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let Some(entries) = self.entries(found) else { return BTreeMap::new() };
        if entries.len() > LONGEST_LIST {
            found.error(&self.path, format!("has {} keys; up to {LONGEST_LIST} are accepted", entries.len()));
        }
        let mut map = BTreeMap::new();
        for entry in entries.iter().take(LONGEST_LIST) {
            let place = Place { node: &entry.value, path: self.path.key(&entry.key) };
            if let Some(value) = value(&place, found) {
                map.insert(entry.key.clone(), value);
            }
        }
        map
    }

    fn entries(&self, found: &mut Findings) -> Option<&'a [Entry]> {
        let Data::Map(entries) = &self.node.data else {
            return self.refuse(found, &format!("must be a map, not {}", self.node.kind()));
        };
        report_twice(entries, &self.path, found);
        Some(entries)
    }

    pub fn object(&self, found: &mut Findings) -> Option<Object<'a>> {
        let entries = self.entries(found)?;
        Some(Object { path: self.path.clone(), entries, known: Vec::new() })
    }

    fn refuse<T>(&self, found: &mut Findings, message: &str) -> Option<T> {
        found.error(&self.path, message);
        None
    }
}

/// Reports keys written twice.
fn report_twice(entries: &[Entry], path: &Path, found: &mut Findings) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        match first.get(entry.key.as_str()) {
            None => {
                first.insert(&entry.key, entry.line);
            }
            Some(0) => found.error_of_key(&path.field(&entry.key), entry.line, "written twice"),
            Some(line) => {
                let message = format!("written twice; the first is on line {line}");
                found.error_of_key(&path.field(&entry.key), entry.line, message);
            }
        }
    }
}

/// Reports keys written twice in everything below, for values that are taken over as they are.
pub(super) fn report_twice_below(place: &Place, found: &mut Findings) {
    match &place.node.data {
        Data::Map(entries) => {
            report_twice(entries, &place.path, found);
            for entry in entries {
                report_twice_below(&Place { node: &entry.value, path: place.path.field(&entry.key) }, found);
            }
        }
        Data::List(items) => {
            for (i, node) in items.iter().enumerate() {
                report_twice_below(&Place { node, path: place.path.index(i) }, found);
            }
        }
        _ => {}
    }
}

/// An object whose fields are taken one by one; what is left at the end is unknown.
pub(super) struct Object<'a> {
    pub path: Path,
    entries: &'a [Entry],
    known: Vec<&'static str>,
}

impl<'a> Object<'a> {
    /// A field, unless it is missing or null.
    pub fn take(&mut self, name: &'static str) -> Option<Place<'a>> {
        self.known.push(name);
        let entry = self.entries.iter().rev().find(|entry| entry.key == name)?;
        let place = Place { node: &entry.value, path: self.path.field(name) };
        if entry.value.is_null() { None } else { Some(place) }
    }

    /// A field that must be there.
    pub fn need(&mut self, name: &'static str, found: &mut Findings) -> Option<Place<'a>> {
        let place = self.take(name);
        if place.is_none() {
            found.error(&self.path.field(name), "required");
        }
        place
    }

    /// A field under its name or its short one.
    pub fn take_either(
        &mut self,
        name: &'static str,
        short: &'static str,
        found: &mut Findings,
    ) -> Option<Place<'a>> {
        match (self.take(name), self.take(short)) {
            (Some(_), Some(twice)) => {
                found.error(&twice.path, format!("another spelling of {name}, which is given too"));
                None
            }
            (long, short) => long.or(short),
        }
    }

    /// A required name or other text; empty after an error.
    pub fn need_text(&mut self, name: &'static str, found: &mut Findings) -> String {
        self.need(name, found).and_then(|place| place.text(found)).unwrap_or_default()
    }

    /// Reports the fields that nobody asked for.
    pub fn finish(self, found: &mut Findings) {
        for entry in self.entries.iter().filter(|entry| !self.known.contains(&entry.key.as_str())) {
            let message = match nearest(&entry.key, &self.known) {
                Some(name) => format!("unknown field; did you mean {name}?"),
                None => format!("unknown field; accepted here: {}", self.known.join(", ")),
            };
            found.error_of_key(&self.path.field(&entry.key), entry.line, message);
        }
    }
}
