//! `lockstep plan --live`: a plan from what a cluster holds now.

use anyhow::{Result, bail};
use serde_json::Value;

use super::home::Home;
use super::observed::Observed;
use crate::args::PlanArgs;
use crate::commands::{now, plan, say};
use crate::exit::Exit;
use crate::input::cluster::block_on;
use crate::input::live_set::check;
use crate::input::manifest::Manifest;
use crate::screen::Screen;

/// Runs the command.
pub fn run(args: &PlanArgs, name: &str, screen: &mut Screen<'_>) -> Result<Exit> {
    let observed = block_on(async { Observed::look(&Home::open(&args.cluster).await?, name).await })?;
    let from = manifest(&observed, &format!("lss/{name}"), observed.set.manifest(&observed.scales))?;
    let Some(path) = &args.to else {
        return now::tell(&from.spec, &observed.snapshot, observed.now, args.output, screen);
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
    if observed.set.is_seen() && observed.set.status.rollout.phase == "Complete" {
        return plan::tell(Some(&from), &to, args, screen);
    }
    let phase = observed.set.status.rollout.phase.as_str();
    let phase = if phase.is_empty() { "not known yet" } else { phase };
    writeln!(
        screen.err,
        "{}: {name} is not complete ({phase}), so this is what would be done at once, not the whole way",
        screen.paint_err.warn("note")
    )?;
    now::tell(&to.spec, &observed.snapshot, observed.now, args.output, screen)
}

/// A manifest with the sizes that the roles are scaled to.
fn manifest(observed: &Observed, file: &str, mut value: Value) -> Result<Manifest> {
    observed.scales.apply(&mut value["spec"]);
    let parsed = check(&observed.set.name, &value)?;
    let spec = lockstep_api::lower(&parsed.set);
    let text = serde_json::to_string_pretty(&value)?;
    Ok(Manifest { file: file.to_owned(), text, set: parsed.set, spec, warnings: Vec::new() })
}
