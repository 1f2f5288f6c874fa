//! Workloads that Karmada spreads over clusters: what is read from them, what is written into them, and what they say
//! back. Everything here is a pure function of objects as JSON; what a rollout may do is decided by
//! [`lockstep_core::align`], and the watching and writing is the operator's.
//!
//! - [`interpret`]: a kind's template, strategy and status, by paths.
//! - [`binding`]: what the user asks for, from the resource template and its ResourceBinding.
//! - [`policy`]: who asks for it.
//! - [`mod@pace`]: which clusters' turn has not come.
//! - [`rehearsal`]: the same for a rollout that is only played.
//! - [`work`]: a Work, and what its member says.
//! - [`mod@stamp`]: what a Work may carry, from its manifest and the ledger.
//! - [`outlook`]: what a rollout says of itself.
//! - [`customization`]: how Karmada is told to say back what is in force, and never to go back to an older lease.

pub mod binding;
pub mod customization;
pub mod interpret;
pub mod outlook;
pub mod pace;
pub mod path;
pub mod policy;
pub mod rehearsal;
pub mod stamp;
pub mod work;

/// On a resource template: `aligned` if its rollout is to keep its own numbers over all clusters.
pub const ROLLOUT: &str = "federation.lockstep.dev/rollout";
/// The value of [`ROLLOUT`] that asks for it.
pub const ALIGNED: &str = "aligned";
/// On a member's workload: the lease it carries.
pub const LEASE: &str = "federation.lockstep.dev/lease";
/// What stands in place of a lease in what was given back: no lease of before may hold it any more.
pub const GIVEN_BACK: &str = "none";
/// On a member's workload: the hash of the template it carries.
pub const TEMPLATE: &str = "federation.lockstep.dev/template";
/// On a Work: the template that waits until a lease carries it.
pub const NEXT: &str = "federation.lockstep.dev/next";
/// On a Work: what override policies make of its strategy, where a lease stands in the place of that.
pub const OVERRIDDEN: &str = "federation.lockstep.dev/overridden";
/// In a reflected status: what of the workload's spec is in force.
pub const IN_FORCE: &str = "lockstep";

/// The lease that a manifest or an object in a member carries.
pub fn lease_of(object: &serde_json::Value) -> Option<u64> {
    object["metadata"]["annotations"][LEASE].as_str()?.parse().ok()
}
