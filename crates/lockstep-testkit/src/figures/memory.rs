//! What the operator holds in memory.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::stage::{Shape, Stage};
use crate::cluster::ClusterError;

/// How many pods there are when it is looked at.
const FEW: u32 = 1_000;
const MANY: u32 = 5_000;

/// Resident memory of the operator's process, in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// With one set of one pod.
    pub idle: u64,
    /// With 1,000 pods.
    pub few: u64,
    /// With 5,000 pods.
    pub many: u64,
}

impl Memory {
    /// What each 1,000 of 5,000 pods take over idle, in KiB.
    pub fn per_thousand(&self) -> f64 {
        (self.many as f64 - self.idle as f64) / f64::from(MANY / 1000)
    }
}

/// Looks at an operator while its set grows.
pub async fn measure(program: &Path) -> Result<Memory, ClusterError> {
    let stage = Stage::set(program, MANY).await?;
    let namespace = stage.cluster.new_namespace("memory").await?;
    let resident = || stage.operator.id().map_or(Ok(0), resident);
    let idle = resident()?;
    let grown = |pods| Shape { name: "grown", pods, window: pods / 10, ready_after: None };
    stage.roll_out(&namespace, &grown(FEW), "v1").await?;
    let few = resident()?;
    stage.roll_out(&namespace, &grown(MANY), "v1").await?;
    Ok(Memory { idle, few, many: resident()? })
}

/// The resident memory of a process, in KiB.
pub(super) fn resident(process: u32) -> Result<u64, ClusterError> {
    let path = PathBuf::from(format!("/proc/{process}/status"));
    let text = fs::read_to_string(&path).map_err(ClusterError::file(&path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    number.ok_or_else(|| ClusterError::Access {
        what: "read the resident memory".to_owned(),
        reason: format!("{} has no VmRSS", path.display()),
    })
}
