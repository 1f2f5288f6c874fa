//! The commands on a set that runs in a cluster, one file per verb.

pub mod abort;
pub mod answer;
pub mod args;
mod budget;
mod drain_check;
mod get;
mod history;
pub mod home;
mod memory;
mod observed;
pub mod pause;
pub mod plan;
pub mod promote;
mod put_back;
pub mod retry;
mod revisions;
pub mod spread;
pub mod status;
pub mod undo;
mod why;

use args::Live;

use crate::exit::Exit;
use crate::input::cluster::block_on;
use crate::screen::Screen;

/// Runs a command.
pub fn run(command: &Live, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    block_on(async {
        match command {
            Live::Status(args) => status::run(args, screen).await,
            Live::Get(args) => get::run(args, screen).await,
            Live::Pause(args) => pause::run(args, true, screen).await,
            Live::Resume(args) => pause::run(args, false, screen).await,
            Live::Promote(args) => promote::run(args, screen).await,
            Live::Abort(args) => abort::run(args, screen).await,
            Live::Retry(args) => retry::run(args, screen).await,
            Live::Undo(args) => undo::run(args, screen).await,
            Live::History(args) => history::run(args, screen).await,
            Live::Why(args) => why::run(args, screen).await,
            Live::Budget(args) => budget::run(args, screen).await,
            Live::DrainCheck(args) => drain_check::run(args, screen).await,
        }
    })
}
