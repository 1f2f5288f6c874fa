//! A kubelet without containers: pods come up, fail and go as their annotations say.
/// x
pub const STAND_IN: &str = "kubelet.lockstep.dev/stand-in";
/// x
pub const READY_AFTER: &str = "kubelet.lockstep.dev/ready-after";
/// x
pub const TERMINATES_AFTER: &str = "kubelet.lockstep.dev/terminates-after";
/// x
pub const CRASH_AFTER: &str = "kubelet.lockstep.dev/crash-after";
/// x
pub const CRASHES: &str = "kubelet.lockstep.dev/crashes";
