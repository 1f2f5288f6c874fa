//! The manifests of other projects, on our engine.
//!
//! A dialect is three things: definitions of its kinds, a pure `lower` from one of its objects to a LockstepSet (and
//! what has to stand beside it), and a pure `raise` from the set's status to the status its users know. What makes a
//! pod one of theirs (names, labels, environment, services) is said in identity templates of the set.

pub mod definition;
mod findings;
mod grove;
mod kind;
mod kthena;
mod lowered;
mod original;
mod places;
mod raised;
pub mod rbg;
mod shape;
mod world;

use lockstep_api::Problem;
use serde_json::Value;

pub use findings::Findings;
pub use kind::Kind;
pub use lowered::Lowered;
pub use original::Original;
pub use places::Places;
pub use raised::{Lack, Raised, Seen, condition, wrong};
pub use world::{Served, World};

/// The language of another project.
pub trait Dialect: Sync {
    /// The word for it on the command line: `rbg`, `kthena`, `grove`.
    fn name(&self) -> &'static str;

    /// The definitions of all its kinds, as an API server takes them.
    fn definitions(&self) -> Vec<Value>;

    /// Its kinds. Those that become sets come first.
    fn kinds(&self) -> &'static [Kind];

    /// Reads an object that becomes a set: every error at once, in the words and at the places of the manifest. The
    /// set has been checked: what is wrong with it is translated back to where its user wrote it.
    fn lower(&self, object: &Value, world: &World) -> Result<Lowered, Vec<Problem>>;

    /// What deserves a word in an object, also if it is refused.
    fn warnings(&self, object: &Value, world: &World) -> Vec<Problem> {
        self.lower(object, world).map(|lowered| lowered.warnings).unwrap_or_default()
    }

    /// Changes of an object that stands which cannot be followed. `new` alone is for `lower` to judge.
    fn forbidden_changes(&self, old: &Value, new: &Value) -> Vec<Problem> {
        let _ = (old, new);
        Vec::new()
    }

    /// What to say of the object, now that its set is where it is.
    fn raise(&self, object: &Value, seen: &Seen<'_>, world: &World) -> Raised;

    /// What to say of an object that becomes no set, by itself: `readers` are the objects around it that do. Nothing if
    /// there is nothing to say but what those say of it.
    fn raise_alone(&self, object: &Value, readers: &[&Value], now: &str) -> Option<Value> {
        let _ = (object, readers, now);
        None
    }

    /// The operator whose kinds these are.
    fn original(&self) -> &'static Original {
        &original::UNKNOWN
    }

    /// The same object in another version of its kind; nothing may be lost on the way there and back. `to` is group
    /// and version. Where all versions have the same fields, only their name changes.
    fn convert(&self, object: &Value, to: &str) -> Result<Value, String> {
        let mut object = object.clone();
        object["apiVersion"] = to.into();
        Ok(object)
    }
}

/// All dialects there are.
pub const ALL: [&dyn Dialect; 3] = [&rbg::Rbg, &kthena::Kthena, &grove::Grove];

/// The dialect of an object that becomes a set, and its kind.
pub fn of(object: &Value) -> Option<(&'static dyn Dialect, &'static Kind)> {
    let becomes_set = |dialect: &'static dyn Dialect| {
        let kind = dialect.kinds().iter().find(|kind| kind.becomes_set && kind.is_of(object))?;
        Some((dialect, kind))
    };
    ALL.into_iter().find_map(becomes_set)
}
