//! `lockstep why`: what a rollout waits for.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::api::ListParams;
use serde_json::Value;

use super::answer::{give, yaml};
use super::args::{Subject, WhyArgs};
use super::home::Home;
use super::observed::Observed;
use super::spread;
use crate::exit::Exit;
use crate::input::live_set::now;
use crate::screen::Screen;
use crate::show::trouble;
use crate::show::why::explain;

/// Runs the command.
pub async fn run(args: &WhyArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let name = match &args.subject.subject {
        Subject::Set(name) => name,
        Subject::Spread(workload) => return spread::why(args, workload, screen).await,
    };
    let home = Home::open(&args.subject.cluster).await?;
    let set = home.set(name).await?;
    // A spec that cannot be read has no defaults to show; what the operator says of it stands nevertheless.
    let spec = match set.parse(&home.scales(name).await?) {
        Ok(parsed) => serde_json::to_value(&parsed.set.spec)?,
        Err(_) => Value::Null,
    };
    let mut why = explain(&set, &spec, now());
    if let (Some((api, _)), Some(maker)) = (home.maker(&set), set.maker())
        && let Some((_, name)) = maker.split_once(' ')
        // Who may not read it is told what the set says.
        && let Ok(Some(object)) = api.get_opt(name).await
    {
        why.of_maker(&maker, &object.data["status"]);
    }
    // Who may not list pods or nodes is told what the set says.
    if let Ok(pods) = home.pods_of(name).await {
        let lost = home.nodes().list(&ListParams::default()).await.map(|nodes| trouble::lost(&nodes.items));
        why.of_pods(trouble::troubles(&pods, &lost.unwrap_or_default()));
    }
    give(screen, args.subject.output, &why, || why.text())?;
    if let Some(file) = &args.dump {
        let beside = dump(&Observed::look(&home, name).await?, file)?;
        let (set, state) = (beside.display(), file.display());
        writeln!(screen.err, "Written. Replay: lockstep plan -f {set} --snapshot {state}")?;
    }
    Ok(Exit::Fine)
}

/// Writes what the engine sees, and the set beside it.
fn dump(observed: &Observed, file: &Path) -> Result<PathBuf> {
    let beside = file.with_extension("set.yaml");
    let state = serde_json::to_string_pretty(&observed.state_file()?)? + "\n";
    let set = yaml(&observed.set.manifest(&observed.scales))?;
    for (path, text) in [(file, state), (beside.as_path(), set)] {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(beside)
}
