//! Changing what the engine remembers: read, change, write if nobody else has, else again.

use anyhow::{Context, Result, bail};
use kube::Error;
use kube::api::PostParams;
use lockstep_core::model::Spec;
use lockstep_core::snapshot::Memory;
use serde_json::json;

use super::home::{FIELD_MANAGER, Home};
use crate::input::live_set::LiveSet;

/// How often to begin again. The operator writes a few times per second; nobody is this unlucky.
const ATTEMPTS: usize = 30;

/// Changes the memory of a set by `change`, which sees the set, its spec and its memory, and returns what it did.
pub async fn change<T>(
    home: &Home,
    name: &str,
    mut change: impl FnMut(&LiveSet, &Spec, &mut Memory) -> Result<T>,
) -> Result<T> {
    for _ in 0..ATTEMPTS {
        let mut set = home.set(name).await?;
        let scales = home.scales(name).await?;
        let spec = lockstep_api::lower(&set.parse(&scales)?.set);
        let memory = set.memory()?;
        let mut memory = memory.with_context(|| {
            format!("the operator has not looked at {name} yet; is it running? `{}` starts it", home.starter)
        })?;
        let done = change(&set, &spec, &mut memory)?;
        set.object.data["status"]["memory"] = json!(memory);
        let manager = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match home.sets().replace_status(name, &manager, &set.object).await {
            Ok(_) => return Ok(done),
            Err(Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(home.explain(error, name)),
        }
    }
    bail!("the status of {name} changed {ATTEMPTS} times while it was being written; try again")
}
