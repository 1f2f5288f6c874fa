//! `lockstep retry`: clear a stall and the back-off of restarts.

use anyhow::{Result, bail};
use lockstep_core::snapshot::Memory;
use lockstep_core::verbs;
use serde_json::json;

use super::answer::give;
use super::args::SetArgs;
use super::home::Home;
use super::memory;
use crate::exit::Exit;
use crate::input::live_set::{LiveSet, now};
use crate::screen::Screen;
use crate::show::words;

/// Runs the command.
pub async fn run(args: &SetArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    act(&Home::open(&args.cluster).await?, args, screen).await
}

/// Tries again where the set lives.
pub async fn act(home: &Home, args: &SetArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let name = &args.name;
    let restarts = memory::change(home, name, |set, _, memory| {
        let restarts = worth_it(set, memory)?;
        verbs::retry(memory, now());
        Ok(restarts)
    })
    .await?;
    let value = json!({"name": name, "namespace": home.namespace, "clearedRestarts": restarts});
    give(screen, args.output, &value, || {
        let cleared = match restarts {
            0 => String::new(),
            n => format!("; {} forgotten", words::count(n as u64, "back-off")),
        };
        format!("lockstepset {name:?} tries again, its deadline starts anew{cleared}\n")
    })?;
    Ok(Exit::Fine)
}

/// How many back-offs there are to clear; refuses where nothing is to be retried.
fn worth_it(set: &LiveSet, memory: &Memory) -> Result<usize> {
    let (name, phase) = (&set.name, set.status.rollout.phase.as_str());
    if matches!(phase, "RolledBack" | "RollingBack") {
        bail!(
            "{name} went back to {}, and stays there until its spec changes; \
             apply what should be tried next",
            set.status.revision.update
        );
    }
    let waiting = verbs::back_offs(memory);
    if phase != "Stalled" && waiting == 0 {
        bail!("there is nothing to retry: {name} is not stalled, and no restart waits");
    }
    Ok(waiting)
}
