//! `lockstep`: look at a rollout before it happens.

mod args;
mod budgets;
mod commands;
mod exit;
mod input;
mod install;
mod screen;
mod show;
mod story;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::main()
}
