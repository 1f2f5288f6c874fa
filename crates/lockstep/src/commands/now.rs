//! `lockstep plan --snapshot`: what the engine would do now.

use lockstep_core::plan::plan;

use super::say;
use crate::args::{PlanArgs, PlanForm};
use crate::exit::Exit;
use crate::input::manifest::Manifest;
use crate::input::state_file;
use crate::screen::Screen;
use crate::show::now_table;

/// Runs the command.
pub fn run(args: &PlanArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let (Some(from), Some(snapshot)) = (&args.from, &args.snapshot) else {
        anyhow::bail!("--snapshot needs -f: the manifest that is wished for");
    };
    let manifest = Manifest::read(from)?;
    say(&manifest.warnings, screen);
    let (snapshot, now) = state_file::read(snapshot, &manifest.spec)?;
    let plan = plan(&manifest.spec, &snapshot, now);
    match args.output {
        PlanForm::Table => {
            write!(screen.out, "{}", now_table::show(&manifest.spec, &plan, now, screen.paint))?
        }
        PlanForm::Json => {
            serde_json::to_writer_pretty(&mut screen.out, &plan)?;
            writeln!(screen.out)?;
        }
        PlanForm::Svg => {
            anyhow::bail!("-o svg shows a whole rollout; with --snapshot there is table and json")
        }
    }
    Ok(Exit::Fine)
}
