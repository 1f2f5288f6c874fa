//! The language an object is written in: ours, or a dialect.

use kube::Client;
use kube::core::DynamicObject;
use kube::core::admission::AdmissionRequest;
use lockstep_api::{Parsed, Problem, Valid, parse_json};
use lockstep_dialects::{Dialect, Lowered, Places, World};
use serde_json::Value;

use super::review::{concerns_us, value};
use crate::dialects::{Dialects, world};

/// The language an object is written in.
pub enum Tongue {
    /// It is a set.
    Ours,
    /// It becomes one, by way of a dialect and of what else there is.
    Theirs(&'static dyn Dialect, Box<World>),
}

/// An object without errors.
pub struct Understood {
    /// The set it is, or becomes.
    pub set: Valid,
    /// What deserves a word.
    pub warnings: Vec<Problem>,
    /// Where its user wrote what, if it is not a set.
    pub places: Option<Places>,
}

impl Tongue {
    /// The language of a request: who is asked about an object of a dialect looks up what that dialect reads beside
    /// it.
    pub async fn of(
        request: &AdmissionRequest<DynamicObject>,
        dialects: Option<&(Client, Dialects)>,
    ) -> Result<Self, kube::Error> {
        let object = request.object.as_ref().filter(|object| concerns_us(request, object)).map(value);
        let Some((object, (client, dialects))) = object.zip(dialects) else { return Ok(Self::Ours) };
        let Some(dialect) = dialects.of(&object) else { return Ok(Self::Ours) };
        let world = world::read(client, dialect, request.namespace.as_deref()).await?;
        Ok(Self::Theirs(dialect, Box::new(world)))
    }

    /// Reads an object, or says everything that is wrong with it.
    pub fn read(&self, object: &Value) -> Result<Understood, Vec<Problem>> {
        match self {
            Self::Ours => {
                let Parsed { set, warnings } = parse_json(object)?;
                Ok(Understood { set, warnings, places: None })
            }
            Self::Theirs(dialect, world) => {
                let Lowered { set, warnings, places, .. } = dialect.lower(object, world)?;
                Ok(Understood { set, warnings, places: Some(places) })
            }
        }
    }

    /// What deserves a word in an object that is refused.
    pub fn warnings(&self, object: &Value) -> Vec<Problem> {
        match self {
            Self::Ours => Vec::new(),
            Self::Theirs(dialect, world) => dialect.warnings(object, world),
        }
    }

    /// Changes that cannot be followed.
    pub fn forbidden(&self, old: &Value, new: &Value) -> Vec<Problem> {
        match self {
            Self::Ours => Vec::new(),
            Self::Theirs(dialect, _) => dialect.forbidden_changes(old, new),
        }
    }
}
