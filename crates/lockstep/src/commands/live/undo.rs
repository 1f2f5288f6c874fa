//! `lockstep undo`: an earlier revision back into the spec.

use anyhow::{Context, Result, bail};
use kube::api::{Patch, PatchParams};
use lockstep_api::stored::StoredSet;
use serde_json::{Value, json};

use super::answer::give;
use super::args::UndoArgs;
use super::home::{FIELD_MANAGER, Home};
use super::put_back::{PutBack, put_back};
use super::revisions::StoredRevision;
use crate::exit::Exit;
use crate::input::live_set::{LiveSet, check};
use crate::input::scales::Scales;
use crate::screen::Screen;
use crate::show::{revision_diff, words};

/// How often to begin again when somebody else changes the set meanwhile.
const ATTEMPTS: usize = 5;

/// Runs the command.
pub async fn run(args: &UndoArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    act(&Home::open(&args.set.cluster).await?, args, screen).await
}

/// Goes back where the set lives.
pub async fn act(home: &Home, args: &UndoArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    for _ in 0..ATTEMPTS {
        let set = home.set(&args.set.name).await?;
        if let Some(maker) = set.maker() {
            bail!(
                "{name} is made from the {maker}, which would put its own templates back: change that, for instance \
                 with `kubectl apply -f` of its earlier manifest. `lockstep history {name}` shows what was in it, \
                 `lockstep abort {name}` takes a rollout back that is under way",
                name = set.name
            );
        }
        let now = StoredSet::of(&set.parse(&Scales::default())?.set);
        let revisions = home.revisions(&set).await?;
        let wished = now.revision().to_string();
        let to = match &args.to_revision {
            Some(text) => revisions.find(text)?,
            None => revisions.before(&wished, set.status.revision.stable.as_deref())?,
        };
        let put = put_back(set.spec(), &now, &to.set)?;
        if put.changed.is_empty() {
            bail!("nothing to undo: {} is at revision {} ({}) already", set.name, to.number, to.hash);
        }
        prove(&set, to, &put)?;
        if !args.dry_run && !write(home, &set, &put).await? {
            continue;
        }
        return say(args, &set, &now, to, &put, screen);
    }
    bail!("{} is being changed by somebody else; try again", args.set.name)
}

/// What is written must be accepted, and its roles must have the revisions they had.
fn prove(set: &LiveSet, to: &StoredRevision, put: &PutBack) -> Result<()> {
    let mut manifest = set.manifest(&Scales::default());
    manifest["spec"]["roles"] = put.roles.clone();
    manifest["spec"]["identity"] = put.identity.clone();
    let after = StoredSet::of(&check(&set.name, &manifest)?.set);
    for (name, known) in &to.set.roles {
        let revision = after.roles.get(name).map(|role| role.revision);
        if revision != Some(known.revision) {
            bail!("role {name} would not be at revision {} again; nothing was changed", known.revision);
        }
    }
    Ok(())
}

/// Writes the spec, unless somebody has changed the set meanwhile.
async fn write(home: &Home, set: &LiveSet, put: &PutBack) -> Result<bool> {
    let version = set.object.metadata.resource_version.as_ref().context("the set has no resourceVersion")?;
    let patch = Patch::Merge(json!({
        "metadata": {"resourceVersion": version},
        "spec": {"roles": put.roles, "identity": put.identity},
    }));
    let manager = PatchParams::apply(FIELD_MANAGER);
    match home.sets().patch(&set.name, &manager, &patch).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(home.explain(error, &set.name)),
    }
}

fn say(
    args: &UndoArgs,
    set: &LiveSet,
    now: &StoredSet,
    to: &StoredRevision,
    put: &PutBack,
    screen: &mut Screen<'_>,
) -> Result<Exit> {
    let warnings: Vec<String> = to.doubt().into_iter().chain(put.warnings.iter().cloned()).collect();
    for warning in &warnings {
        writeln!(screen.err, "{}: {warning}", screen.paint_err.warn("warning"))?;
    }
    let mut diff = revision_diff::compare(now, &to.set);
    diff.retain(|role| role.to.is_some());
    let value: Value = json!({
        "name": set.name, "namespace": set.namespace, "dryRun": args.dry_run,
        "revision": to.number, "hash": to.hash, "changed": put.changed, "warnings": warnings,
        "diff": diff,
    });
    let paint = screen.paint;
    give(screen, args.set.output, &value, || {
        let (name, number, hash) = (&set.name, to.number, &to.hash);
        let roles = format!("{} {}", words::plural(put.changed.len(), "role"), words::list(&put.changed));
        if args.dry_run {
            let diff = revision_diff::draw(&diff, paint);
            return format!(
                "lockstepset {name:?} would go back to revision {number} ({hash}): {roles}\n{diff}"
            );
        }
        format!("lockstepset {name:?} goes back to revision {number} ({hash}): {roles}\n")
    })?;
    Ok(Exit::Fine)
}
