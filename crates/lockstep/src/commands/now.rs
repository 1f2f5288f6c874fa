//! `lockstep plan --snapshot`: what the engine would do now.

use lockstep_core::model::Spec;
use lockstep_core::plan::plan;
use lockstep_core::snapshot::Snapshot;
use lockstep_core::time::Time;

use super::say;
use crate::args::{PlanArgs, PlanForm};
use crate::exit::Exit;
use crate::input::manifest::Manifest;
use crate::input::state_file;
use crate::screen::Screen;
use crate::show::now_table;

/// Runs the command.
pub fn run(args: &PlanArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let ([from], Some(snapshot)) = (&args.from[..], &args.snapshot) else {
        anyhow::bail!("--snapshot needs one -f: the manifest that is wished for");
    };
    let manifest = Manifest::read(from)?;
    say(&manifest.warnings, screen);
    let (snapshot, now) = state_file::read(snapshot, &manifest.spec)?;
    tell(&manifest.spec, &snapshot, now, args.output, screen)
}

/// Plans and says what comes out.
pub fn tell(
    spec: &Spec,
    snapshot: &Snapshot,
    now: Time,
    form: PlanForm,
    screen: &mut Screen<'_>,
) -> anyhow::Result<Exit> {
    let plan = plan(spec, snapshot, now);
    match form {
        PlanForm::Table => write!(screen.out, "{}", now_table::show(spec, &plan, now, screen.paint))?,
        PlanForm::Json => {
            serde_json::to_writer_pretty(&mut screen.out, &plan)?;
            writeln!(screen.out)?;
        }
        PlanForm::Svg => {
            anyhow::bail!("-o svg shows a whole rollout; from one state there is table and json")
        }
    }
    Ok(Exit::Fine)
}
