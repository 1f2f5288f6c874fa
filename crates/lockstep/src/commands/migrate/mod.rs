//! `lockstep migrate`: from the operator of another project to Lockstep's dialect of the same kinds, with a plan shown
//! first. What can stay as it is stays: an instance takes minutes to load.
//!
//! Everything that is done is found again by who comes later: killed anywhere and run again, it goes on.

mod check;
mod deeds;
mod moves;
mod show;
mod site;

use anyhow::{Result, bail};
use clap::Args;
use lockstep_dialects::Dialect;

use self::deeds::Mover;
use self::moves::Moves;
use self::site::Site;
use super::live::answer::give;
use super::live::args::Form;
use crate::commands::install::NAMESPACE;
use crate::exit::Exit;
use crate::input::cluster::{ClusterArgs, block_on};
use crate::input::dialects::{chosen, original};
use crate::screen::Screen;

/// `lockstep migrate`.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Whose objects: rbg (RoleBasedGroup), kthena (ModelServing) or grove (PodCliqueSet), in all namespaces.
    #[arg(value_name = "DIALECT", value_parser = original)]
    pub dialect: crate::input::dialects::DialectName,
    /// Do it. Without this the plan is shown, and nothing is changed.
    #[arg(long)]
    pub yes: bool,
    /// Show the plan and change nothing, which is what happens without --yes anyway.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
    /// Which cluster, and where the operator is in it.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// More help.
pub const HELP: &str = "\
First stop the original controller (scale its Deployment to 0, or uninstall it and keep its definitions), delete its
webhooks, and run `lockstep install --dialects`. Killed anywhere and run again, it goes on where it was.

Examples:
  lockstep migrate kthena              what would be done: which pods stay, which roll, within which limits
  lockstep migrate kthena -o json
  lockstep migrate kthena --yes";

/// Runs the command.
pub fn run(args: &MigrateArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let dialects = chosen(&[Some(args.dialect)]);
    let Some(dialect) = dialects.first() else { bail!("there is no such dialect") };
    let home = args.cluster.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned());
    block_on(migrate(args, *dialect, &home, screen))
}

async fn migrate(
    args: &MigrateArgs,
    dialect: &'static dyn Dialect,
    home: &str,
    screen: &mut Screen<'_>,
) -> Result<Exit> {
    let (client, _) = args.cluster.client().await?;
    let site = Site::look(&client, dialect).await?;
    let moves = Moves::plan(&site);
    let refusals = check::refusals(&site, &moves);
    let told = show::Plan { site: &site, moves: &moves, refusals: &refusals };
    if args.output != Form::Text || !args.yes || !refusals.is_empty() {
        let paint = screen.paint;
        give(screen, args.output, &told.to_json(), || told.text(paint))?;
    }
    if !refusals.is_empty() {
        bail!(
            "nothing was changed: {} in the way",
            crate::show::words::count(refusals.len() as u64, "thing")
        );
    }
    if args.yes {
        Mover { client, site: &site, home }.carry_out(&moves, screen).await?;
    } else if args.output == Form::Text {
        writeln!(screen.out, "\nNothing was changed. `lockstep migrate {} --yes` does it.", dialect.name())?;
    }
    Ok(Exit::Fine)
}
