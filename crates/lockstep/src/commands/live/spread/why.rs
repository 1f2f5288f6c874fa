//! What a rollout over clusters waits for.

use anyhow::{Result, bail};

use super::{Spread, status};
use crate::commands::live::answer::give;
use crate::commands::live::args::{WhyArgs, Workload};
use crate::exit::Exit;
use crate::screen::Screen;
use crate::show::spread::explain;

/// Says it.
pub async fn why(args: &WhyArgs, workload: &Workload, screen: &mut Screen<'_>) -> Result<Exit> {
    if args.dump.is_some() {
        bail!(
            "--dump writes what the engine sees of a set; a rollout over clusters keeps all of it in its status"
        );
    }
    let spread = Spread::open(&args.subject.cluster, workload).await?;
    let generation = spread.template.metadata.generation;
    let text = explain(&spread.called, &spread.rollout, generation, screen.paint);
    give(screen, args.subject.output, &status::told(&spread)?, || text)?;
    Ok(Exit::Fine)
}
