//! RoleBasedGroups: `workloads.x-k8s.io`, v1alpha1 and v1alpha2.

mod beside;
mod convert;
mod gang;
mod kinds;
mod lower;
mod merge;
mod names;
mod raise;
mod read;
mod restart;
mod role;
mod rules;
mod spec;
mod template;

use lockstep_api::Problem;
use serde_json::Value;

use crate::{Dialect, Kind, Lowered, Raised, Seen, World};

pub use convert::convert;
pub use raise::policy_status;
pub(crate) use template::CONFIG;

/// RoleBasedGroups.
#[derive(Debug)]
pub struct Rbg;

impl Dialect for Rbg {
    fn name(&self) -> &'static str {
        "rbg"
    }

    fn original(&self) -> &'static crate::Original {
        &crate::original::RBG
    }

    fn definitions(&self) -> Vec<Value> {
        kinds::definitions()
    }

    fn kinds(&self) -> &'static [Kind] {
        &kinds::ALL
    }

    fn lower(&self, object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
        let object = convert::whole(object);
        crate::shape::all_at_once(&read::schema(&object), &object, |object| lower::lower(object, world))
    }

    fn raise(&self, object: &Value, seen: &Seen<'_>, world: &World) -> Raised {
        raise::raise(&convert::whole(object), seen, world)
    }

    fn raise_alone(&self, object: &Value, readers: &[&Value], now: &str) -> Option<Value> {
        let same_name = |group: &&&Value| group["metadata"]["name"] == object["metadata"]["name"];
        let bound = readers.iter().filter(same_name).any(|group| kinds::GROUP.is_of(group));
        kinds::POLICY.is_of(object).then(|| policy_status(object, bound, now))
    }

    fn convert(&self, object: &Value, to: &str) -> Result<Value, String> {
        let version = to.rsplit('/').next().unwrap_or_default();
        Ok(convert::convert(object, version))
    }
}
