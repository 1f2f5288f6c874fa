//! To come.
use crate::args::PlanArgs;
use crate::exit::Exit;
use crate::screen::Screen;
/// Runs the command.
pub fn run(_args: &PlanArgs, _screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    anyhow::bail!("to come")
}
