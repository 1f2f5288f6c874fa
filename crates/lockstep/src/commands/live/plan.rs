//! `lockstep plan --live`: a plan from what a cluster holds now.

use anyhow::{Result, bail};
use lockstep_core::simulate::Present;
use lockstep_core::snapshot::Pod;
use serde_json::Value;

use super::args::Subject;
use super::home::Home;
use super::observed::Observed;
use super::spread;
use crate::args::{PlanArgs, PlanForm};
use crate::commands::{now, plan, say};
use crate::exit::Exit;
use crate::input::cluster::block_on;
use crate::input::live_set::check;
use crate::input::manifest::Manifest;
use crate::screen::Screen;
use crate::show::words;

/// Runs the command.
pub fn run(args: &PlanArgs, subject: &Subject, screen: &mut Screen<'_>) -> Result<Exit> {
    let name = match subject {
        Subject::Set(name) => name,
        Subject::Spread(workload) => return spread::plan(args, workload, screen),
    };
    let observed = block_on(async { Observed::look(&Home::open(&args.cluster).await?, name).await })?;
    let from = manifest(&observed, &format!("lss/{name}"), observed.set.manifest(&observed.scales))?;
    let complete = observed.set.is_seen() && observed.set.status.rollout.phase == "Complete";
    let Some(path) = &args.to else {
        if args.output != PlanForm::Svg {
            let exit = now::tell(&from.spec, &observed.snapshot, observed.now, args.output, screen)?;
            if complete || args.output == PlanForm::Json {
                return Ok(exit);
            }
            writeln!(screen.out)?;
        }
        return the_rest(&observed, &from, &from, args, screen);
    };
    let to = Manifest::read(path)?;
    say(&to.warnings, screen);
    if to.spec.name != from.spec.name {
        bail!(
            "{} is set {:?}, but {:?} is asked for: both must be the same set",
            to.file,
            to.spec.name,
            name
        );
    }
    let to = manifest(&observed, &to.file, serde_json::to_value(&*to.set)?)?;
    if complete {
        return plan::tell(Some(&from), &to, None, args, screen);
    }
    the_rest(&observed, &from, &to, args, screen)
}

/// Plays on from what stands. Nobody knows how far a pod is that starts, or whether one that is broken recovers.
fn the_rest(
    observed: &Observed,
    from: &Manifest,
    to: &Manifest,
    args: &PlanArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit> {
    let instances =
        observed.snapshot.groups.iter().flat_map(|group| &group.roles).flat_map(|role| &role.instances);
    let starting = |pod: &&Pod| !pod.is_ready() && !pod.terminating && !pod.failed && !pod.gated;
    let starting = instances.flat_map(|instance| &instance.pods).filter(starting).count();
    if starting > 0 {
        let pods = words::count(u32::try_from(starting).unwrap_or(u32::MAX), "pod");
        writeln!(
            screen.err,
            "{}: {pods} not ready now; taken to be ready after the whole start-up time",
            screen.paint_err.warn("note")
        )?;
    }
    let present = Present { snapshot: observed.snapshot.clone(), now: observed.now };
    plan::tell(Some(from), to, Some(&present), args, screen)
}

/// A manifest with the sizes that the roles are scaled to.
fn manifest(observed: &Observed, file: &str, mut value: Value) -> Result<Manifest> {
    observed.scales.apply(&mut value["spec"]);
    let parsed = check(&observed.set.name, &value)?;
    let spec = lockstep_api::lower(&parsed.set);
    let text = serde_json::to_string_pretty(&value)?;
    Ok(Manifest { file: file.to_owned(), text, set: parsed.set, spec, warnings: Vec::new(), theirs: None })
}
