//! The PodUnavailableBudget kind of OpenKruise, with groups: how many units of a service may be taken away on
//! purpose at one time.

mod assemble;
mod check;
mod coverage;
pub mod definition;
mod fits;
mod ledger;
mod made;
mod owners;
pub mod seen;
mod spec;
mod standing;
mod status;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use serde::{Deserialize, Serialize};

pub use self::assemble::{Assembled, Counted, Lens, Surroundings};
pub use self::check::{Checked, check, check_document};
pub use self::coverage::Coverage;
pub use self::fits::never_fits;
pub use self::made::{Labels, Made};
pub use self::owners::{Chain, Found, LWS_GROUP_INDEX, LWS_GROUP_KEY, LWS_NAME, Owner, Workload};
pub use self::spec::{PodGroupPolicy, PodUnavailableBudgetSpec, Protected, TargetRef};
pub use self::standing::{Sight, Standing};
pub use self::status::PodUnavailableBudgetStatus;

/// On a budget: the operations it protects against, in Kruise's words: `DELETE,EVICT,UPDATE`.
pub const PROTECT_OPERATIONS: &str = "kruise.io/pub-protect-operations";
/// On a budget: stands for the number of units that are expected.
pub const PROTECT_TOTAL_REPLICAS: &str = "pub.kruise.io/protect-total-replicas";
/// On a pod: `"true"` if no budget is to protect it.
pub const NO_PROTECT: &str = "pub.kruise.io/no-protect";

/// At most so many units of a service unavailable on purpose, whoever asks: a drain, an eviction, a scale-in, a
/// rollout or a person.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodUnavailableBudget {
    /// Always `policy.kruise.io/v1alpha1`.
    pub api_version: String,
    /// Always `PodUnavailableBudget`.
    pub kind: String,
    /// Its name, and Kruise's annotations.
    pub metadata: ObjectMeta,
    /// What it asks for.
    pub spec: PodUnavailableBudgetSpec,
    /// What it counts and has promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<PodUnavailableBudgetStatus>,
}

impl Resource for PodUnavailableBudget {
    const API_VERSION: &'static str = "policy.kruise.io/v1alpha1";
    const GROUP: &'static str = "policy.kruise.io";
    const KIND: &'static str = "PodUnavailableBudget";
    const VERSION: &'static str = "v1alpha1";
    const URL_PATH_SEGMENT: &'static str = "podunavailablebudgets";
    type Scope = NamespaceResourceScope;
}

impl Metadata for PodUnavailableBudget {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
