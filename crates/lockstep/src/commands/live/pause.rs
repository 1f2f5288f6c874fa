//! `lockstep pause` and `lockstep resume`: the one field of the spec that holds everything.

use anyhow::{Result, bail};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::answer::give;
use super::args::{SetArgs, Subject, SubjectArgs};
use super::home::{FIELD_MANAGER, Home};
use super::spread::{self, Spread};
use crate::exit::Exit;
use crate::screen::Screen;

/// Runs either command.
pub async fn run(args: &SubjectArgs, paused: bool, screen: &mut Screen<'_>) -> Result<Exit> {
    match &args.subject {
        Subject::Spread(workload) => {
            let spread = Spread::open(&args.cluster, workload).await?;
            spread::pause(&spread, paused, args.output, screen).await
        }
        Subject::Set(name) => {
            let set = SetArgs { name: name.clone(), cluster: args.cluster.clone(), output: args.output };
            act(&Home::open(&args.cluster).await?, &set, paused, screen).await
        }
    }
}

/// Pauses or resumes where the set lives.
pub async fn act(home: &Home, args: &SetArgs, paused: bool, screen: &mut Screen<'_>) -> Result<Exit> {
    let set = home.set(&args.name).await?;
    let name = &set.name;
    let was = set.spec()["paused"].as_bool().unwrap_or_default();
    if let (true, Some(maker)) = (was && !paused && set.is_paused_by_maker(), set.maker()) {
        bail!("{name} is paused by the {maker} it is made from, which would pause it again: resume it there");
    }
    if was != paused {
        let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
        let manager = PatchParams::apply(FIELD_MANAGER);
        home.sets().patch(name, &manager, &patch).await.map_err(|error| home.explain(error, name))?;
    }
    let text = match (paused, was) {
        (true, true) => format!("lockstepset {name:?} is paused already\n"),
        (true, false) => format!("lockstepset {name:?} paused; `lockstep resume {name}` lets it go on\n"),
        (false, true) => format!("lockstepset {name:?} resumed\n"),
        (false, false) => format!("lockstepset {name:?} is not paused\n"),
    };
    let value =
        json!({"name": name, "namespace": home.namespace, "paused": paused, "changed": was != paused});
    give(screen, args.output, &value, || text)?;
    Ok(Exit::Fine)
}
