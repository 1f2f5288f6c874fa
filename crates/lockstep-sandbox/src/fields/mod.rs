//! Sets of fields: which parts of an object somebody owns.
//!
//! A set is a tree of path elements. It is written as Kubernetes writes `managedFields[].fieldsV1`.

mod codec;
mod element;

use std::collections::BTreeMap;

pub use self::codec::FieldsError;
pub use self::element::Element;

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The place itself belongs to the set, not only something below it.
    member: bool,
    children: BTreeMap<Element, Fields>,
}

impl Fields {
    /// A set with nothing but the place it hangs at.
    pub fn leaf() -> Self {
        Self { member: true, children: BTreeMap::new() }
    }

    /// Nothing belongs to it.
    pub fn is_empty(&self) -> bool {
        !self.member && self.children.values().all(Self::is_empty)
    }

    /// The place itself belongs to the set.
    pub fn is_member(&self) -> bool {
        self.member
    }

    /// Puts the place itself into the set.
    pub fn set_member(&mut self) {
        self.member = true;
    }

    /// What hangs below an element.
    pub fn child(&self, element: &Element) -> Option<&Self> {
        self.children.get(element)
    }

    /// What hangs below, by element.
    pub fn children(&self) -> impl Iterator<Item = (&Element, &Self)> {
        self.children.iter()
    }

    /// The set below an element, made if it is not there.
    pub fn at(&mut self, element: Element) -> &mut Self {
        self.children.entry(element).or_default()
    }

    /// Hangs a set below an element, unless it is empty.
    pub fn hang(&mut self, element: Element, fields: Self) {
        if !fields.is_empty() {
            self.at(element).add(&fields);
        }
    }

    /// Adds all of another set.
    pub fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (element, child) in &other.children {
            self.at(element.clone()).add(child);
        }
    }

    /// Both sets together.
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.add(other);
        both
    }

    /// What belongs to this set and not to the other.
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| mine && !theirs)
    }

    /// What belongs to both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| mine && theirs)
    }

    fn combine(&self, other: &Self, keep: fn(bool, bool) -> bool) -> Self {
        let nothing = Self::default();
        let mut left = Self { member: keep(self.member, other.member), children: BTreeMap::new() };
        for (element, child) in &self.children {
            left.hang(element.clone(), child.combine(other.child(element).unwrap_or(&nothing), keep));
        }
        left
    }

    /// What belongs to this set, without what the other has and all that lies below it.
    pub fn without_all_below(&self, other: &Self) -> Self {
        if other.member {
            return Self::default();
        }
        let mut left = Self { member: self.member, children: BTreeMap::new() };
        for (element, child) in &self.children {
            let child = match other.child(element) {
                Some(below) => child.without_all_below(below),
                None => child.clone(),
            };
            left.hang(element.clone(), child);
        }
        left
    }

    /// Every place that belongs to the set, as a path of elements.
    pub fn paths(&self) -> Vec<Vec<&Element>> {
        let mut found = Vec::new();
        if self.member {
            found.push(Vec::new());
        }
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect<'a>(&'a self, path: &mut Vec<&'a Element>, found: &mut Vec<Vec<&'a Element>>) {
        // First what ends here, then what goes on: the order of a real server's sentences.
        for (element, _) in self.children.iter().filter(|(_, child)| child.member) {
            found.push(path.iter().copied().chain([element]).collect());
        }
        for (element, child) in &self.children {
            path.push(element);
            child.collect(path, found);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Fields {
        Fields::read(&value).expect("a set")
    }

    #[test]
    fn together_less_and_in_common() {
        let one = read(json!({"f:spec": {"f:a": {}, "f:b": {".": {}, "f:c": {}}}}));
        let other = read(json!({"f:spec": {"f:b": {}, "f:d": {}}}));
        let both = json!({"f:spec": {"f:a": {}, "f:b": {".": {}, "f:c": {}}, "f:d": {}}});
        assert_eq!(one.union(&other).write(), both);
        assert_eq!(one.difference(&other).write(), json!({"f:spec": {"f:a": {}, "f:b": {"f:c": {}}}}));
        assert_eq!(one.intersection(&other).write(), json!({"f:spec": {"f:b": {}}}));
        assert_eq!(one.without_all_below(&other).write(), json!({"f:spec": {"f:a": {}}}));
    }

    #[test]
    fn what_is_taken_away_leaves_no_empty_branches() {
        let one = read(json!({"f:spec": {"f:a": {"f:b": {}}}}));
        assert!(one.difference(&one).is_empty());
        assert_eq!(one.difference(&one).write(), json!({}));
    }
}
