//! The labels, annotations and names by which everything of a set is known in a cluster.
//!
//! They are what a router selects by and what the next operator reads: none of them may ever change its meaning.

/// Whose it is: the set's name.
pub const SET: &str = "lockstep.dev/set";
/// The group's ordinal.
pub const GROUP: &str = "lockstep.dev/group";
/// The role's name.
pub const ROLE: &str = "lockstep.dev/role";
/// The instance's ordinal within its role and group.
pub const INSTANCE: &str = "lockstep.dev/instance";
/// The member's name.
pub const MEMBER: &str = "lockstep.dev/member";
/// The pod's ordinal within its member.
pub const POD: &str = "lockstep.dev/pod";
/// The role's revision the pod was built from.
pub const REVISION: &str = "lockstep.dev/revision";
/// The set's revision the pod was created under: pods of several roles that belong together share it.
pub const SET_REVISION: &str = "lockstep.dev/set-revision";
/// Which life of its group a pod was created in.
pub const INCARNATION: &str = "lockstep.dev/incarnation";
/// The gang a pod was created in, within its group and incarnation.
pub const GANG: &str = "lockstep.dev/gang";
/// The placement batch of a pod, by rule: `batch.lockstep.dev/<rule>: <set>-<group>-<batch>`.
pub const BATCH_PREFIX: &str = "batch.lockstep.dev/";
/// That a pod takes part in a placement rule, by rule, as its proposal asks: `…/<rule>: member`.
pub const COORDINATION_PREFIX: &str = "coordination.workloads.x-k8s.io/";
/// On a stored revision: `true` once the whole set stood complete at it, `false` until then. One without it was stored
/// by an operator that did not say.
pub const STOOD_COMPLETE: &str = "lockstep.dev/stood-complete";
/// The scheduling gate that holds a pod until its turn.
pub const GATE: &str = "lockstep.dev/hold";
/// Who writes: the field manager of everything the operator applies.
pub const FIELD_MANAGER: &str = "lockstep";
/// On a RoleScale: the number in the set's spec that was last taken over.
pub const TAKEN_OVER: &str = "lockstep.dev/replicas-of-spec";
/// On what was made from an object of another project's kind: which dialect that object is written in.
pub const DIALECT: &str = "lockstep.dev/dialect";
/// On the same: what was applied, in a few letters. Whoever applies something else has something to do.
pub const APPLIED: &str = "lockstep.dev/applied";
/// On a set whose pods are being taken over from another operator: [`HELD`] while they are, then [`ADOPTED`].
pub const MIGRATION: &str = "lockstep.dev/migration";
/// Not all of its pods are its own yet: nothing is created, deleted or written beside them.
pub const HELD: &str = "held";
/// All of them are. Whoever begins to look after the set makes sure to know them first.
pub const ADOPTED: &str = "adopted";
/// On what stands between an object and its pods, and on the pods, while they are taken over: the UID of the object. It
/// says whose they are when the owners above are gone. The finalizer of the same name keeps an owner until nobody
/// refers to it: the garbage collector may take for garbage what refers to one that is gone.
pub const LEFT_BY: &str = "lockstep.dev/left-by";
/// The field manager of what is made from objects of other projects' kinds, and of their status.
pub const DIALECT_MANAGER: &str = "lockstep-dialects";
