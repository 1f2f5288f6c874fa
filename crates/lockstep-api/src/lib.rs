//! The LockstepSet kind: reading a manifest, finding everything that is wrong with it, filling in defaults,
//! and lowering it into the engine's own model.
//!
//! ```
//! let text = "
//! apiVersion: lockstep.dev/v1alpha1
//! kind: LockstepSet
//! metadata: {name: llama}
//! spec:
//!   roles:
//!   - name: decode
//!     template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
//! ";
//! let parsed = lockstep_api::parse(text).map_err(|problems| problems[0].to_string())?;
//! let spec = lockstep_api::lower(&parsed.set);
//! assert_eq!(spec.replicas, 1);
//! # Ok::<(), String>(())
//! ```

mod bounds;
pub mod budget;
mod coordination;
pub mod crd;
mod decode;
mod document;
mod duration;
pub mod federation;
mod findings;
pub mod identity;
pub mod label;
mod lockstep_set;
mod lower;
mod parse;
mod path;
mod problem;
pub mod proof;
pub mod revision;
pub mod role_scale;
pub mod status;
pub mod stored;
mod valid;
mod validate;
mod words;
mod yaml;

pub use coordination::{
    AffinityScheduling, BatchMode, Coordination, Pause, PauseStep, Progression, RollingUpdate, Scaling, Step,
    UpdateStep,
};
pub use document::{Document, json_to_yaml, yaml_to_json};
pub use duration::{Duration, NotADuration};
pub use identity::Identity;
pub use lockstep_set::{
    API_VERSION, Gang, GangScheduler, KIND, LockstepSet, LockstepSetSpec, Member, Metadata, OnFailure, Order,
    RestartPolicy, RestartType, Role, RoleUpdateStrategy, RoleUpdateType, UpdateStrategy, UpdateType,
};
pub use lower::lower;
pub use parse::{Parsed, check, parse, parse_json};
pub use problem::Problem;
pub use valid::Valid;

/// Labels in an object; what is not text is none.
fn json_labels(labels: &serde_json::Value) -> std::collections::BTreeMap<String, String> {
    let labels = labels.as_object().into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
