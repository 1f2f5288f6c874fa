//! `lockstep why`: what a rollout waits for.

use anyhow::Result;
use serde_json::Value;

use super::answer::give;
use super::args::WhyArgs;
use super::home::Home;
use crate::exit::Exit;
use crate::input::live_set::now;
use crate::screen::Screen;
use crate::show::why::explain;

/// Runs the command.
pub async fn run(args: &WhyArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let home = Home::open(&args.set.cluster).await?;
    let set = home.set(&args.set.name).await?;
    let scales = home.scales(&set).await?;
    // A spec that cannot be read has no defaults to show; what the operator says of it stands nevertheless.
    let spec = match set.parse(&scales) {
        Ok(parsed) => serde_json::to_value(&parsed.set.spec)?,
        Err(_) => Value::Null,
    };
    let why = explain(&set, &spec, now());
    give(screen, args.set.output, &why, || why.text())?;
    Ok(Exit::Fine)
}
