//! Where in a manifest something stands.

use std::fmt;

/// The place of a field in a manifest: `spec.coordination[1].steps[0].role`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Path(Vec<Segment>);

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

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether `other` is this place or lies below it.
    pub fn covers(&self, other: &Self) -> bool {
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
