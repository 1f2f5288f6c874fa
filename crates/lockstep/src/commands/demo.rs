//! `lockstep demo`: the whole of it on a built-in example.

use std::path::PathBuf;

use super::plan::{play_ideal, show_table};
use super::simulate;
use crate::args::{Pace, Ready};
use crate::exit::Exit;
use crate::input::fault_profile::{self, About, Profile};
use crate::input::manifest::Manifest;
use crate::input::pace;
use crate::screen::Screen;
use crate::show::diff;
use lockstep_core::time::Millis;

const OLD: &str = include_str!("../../../../examples/prefill-decode.yaml");
const NEW: &str = include_str!("../../../../examples/prefill-decode-v2.yaml");
const FAULTS: &str = include_str!("../../../../examples/faults/rough-day.yaml");
const RUNS: u64 = 200;

/// Runs the command.
pub fn run(screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let from = Manifest::parse("prefill-decode.yaml", OLD.to_owned())?;
    let to = Manifest::parse("prefill-decode-v2.yaml", NEW.to_owned())?;
    writeln!(
        screen.out,
        "{}\n",
        screen.paint.bold("1. The change: a new image for both roles of a model server")
    )?;
    writeln!(screen.out, "{}", diff::changes(&from.text, &to.text, screen.paint))?;

    let ready = |role: &str, minutes| Ready { role: Some(role.to_owned()), time: Millis::minutes(minutes) };
    let pace = Pace { ready: vec![ready("prefill", 8), ready("decode", 6)], terminate: None };
    let played = play_ideal(Some(&from), &to, None, &pace)?;
    writeln!(
        screen.out,
        "{}\n",
        screen
            .paint
            .bold("2. The plan: lockstep plan -f old.yaml --to new.yaml --ready prefill=8m,decode=6m")
    )?;
    writeln!(screen.out, "{}", played.title.text)?;
    show_table(&played, Some(&from), &to, false, screen)?;

    let about = About { from: Some(&from.spec), to: &to.spec, folder: PathBuf::new() };
    let profile = Profile::parse("rough-day.yaml", FAULTS, &about)?;
    let scenario = simulate::scenario(Some(&from.spec), &to.spec, &profile);
    let title =
        format!("3. The same on a rough day: lockstep simulate … --faults rough-day.yaml --runs {RUNS}");
    writeln!(screen.out, "\n{}\n", screen.paint.bold(&title))?;
    writeln!(screen.out, "{}; {}\n", pace::say(&profile.nature, &to.spec), fault_profile::say(&profile))?;
    screen.out.flush()?;
    let summary = simulate::play_all(&scenario, &profile, 1, RUNS, screen.watched);
    simulate::show(&summary, screen)?;
    Ok(if summary.broken.is_empty() { Exit::Fine } else { Exit::PromiseBroken })
}
