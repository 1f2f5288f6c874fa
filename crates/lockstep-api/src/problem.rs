//! What is wrong with a manifest, and where: one line a person can act on.

use std::fmt;

use serde::Serialize;

/// The place of a field in a manifest: `spec.coordination[1].steps[0].role`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(Vec<Segment>);

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    /// A field of an object.
    Field(String),
    /// An item of a list.
    Index(usize),
    /// A key of a map whose keys the user makes up.
    Key(String),
}

impl Path {
    /// The manifest itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A field of this object.
    pub fn field(&self, name: &str) -> Self {
        self.with(Segment::Field(name.to_owned()))
    }

    /// An item of this list.
    pub fn index(&self, i: usize) -> Self {
        self.with(Segment::Index(i))
    }

    /// An entry of this map.
    pub fn key(&self, key: &str) -> Self {
        self.with(Segment::Key(key.to_owned()))
    }

    fn with(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether `other` is this place or lies below it.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Field(name) if i == 0 => write!(f, "{name}")?,
                Segment::Field(name) => write!(f, ".{name}")?,
                Segment::Index(n) => write!(f, "[{n}]")?,
                Segment::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

/// One thing that is wrong, or that deserves a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The field: `spec.roles[1].updateStrategy.partition`. Empty when the file as a whole is meant.
    pub path: String,
    /// What was found there, as the user wrote it; nothing for a field that is missing or has many lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What would be accepted.
    pub message: String,
    /// The line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Problem {
    /// A problem of the file rather than of a field.
    pub(crate) fn of_file(message: impl Into<String>, line: Option<usize>) -> Self {
        Self { path: String::new(), value: None, message: message.into(), line }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        if let Some(value) = &self.value {
            write!(f, "{value}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}
