//! Playing a rollout over clusters with faults, and judging every promise.

use lockstep_core::simulate::federation::trace::Event;
use lockstep_core::simulate::federation::{Scenario, run as play};
use lockstep_federation::rehearsal::Paced;

use super::{apply, say as say_pace};
use crate::args::{SimulateArgs, SimulateForm};
use crate::commands::say;
use crate::commands::simulate::{progress, show_promises};
use crate::exit::Exit;
use crate::input::spread::Change;
use crate::input::spread::fault_profile::{self, Profile};
use crate::input::texts::Texts;
use crate::screen::Screen;
use crate::show::over_clusters::summary::{Run, Summary, sum_up};
use crate::show::over_clusters::title::title;
use crate::story::runs::side_by_side;
use crate::story::spread::played::{self, Played};

/// Runs the command.
pub fn run(texts: Texts, args: &SimulateArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let mut change = Change::read(texts, args.clusters.as_ref())?;
    say(&change.warnings, screen);
    let mut profile = match &args.faults {
        Some(path) => Profile::read(path, &mut change)?,
        None => Profile::ideal(),
    };
    apply(&args.pace, &mut profile.nature, &change)?;
    let scenario = scenario(&change, &profile);
    if args.output == SimulateForm::Jsonl {
        trace(&scenario, &change, args.seed, screen)?;
    }
    let mut summary = play_all(&scenario, &change, args, screen.watched);
    let refused = conflict(&change);
    let held = profile.may_hold(&change.to.wish);
    if let Some(why) = refused.clone().or(held) {
        summary.excuse(&why);
    }
    match args.output {
        // The trace has been written; what is left to say is the exit code.
        SimulateForm::Jsonl => {}
        SimulateForm::Json => {
            serde_json::to_writer_pretty(&mut screen.out, &summary)?;
            writeln!(screen.out)?;
        }
        SimulateForm::Summary => {
            writeln!(screen.out, "{}", screen.paint.bold(&title(&change)))?;
            let pace = say_pace(&profile.nature, &change);
            writeln!(screen.out, "{pace}; {}\n", fault_profile::say(&profile))?;
            writeln!(screen.out, "{}\n", summary.text())?;
            show_promises(summary.runs, &summary.broken, screen)?;
        }
    }
    Ok(match refused {
        _ if !summary.broken.is_empty() => Exit::PromiseBroken,
        Some(_) => Exit::CannotFinish,
        None => Exit::Fine,
    })
}

fn scenario(change: &Change, profile: &Profile) -> Scenario {
    let mut scenario = Scenario {
        nature: profile.nature.clone(),
        faults: profile.faults.clone(),
        limit: profile.limit,
        ..played::scenario(change, None)
    };
    scenario.changes.extend(profile.changes.iter().cloned());
    scenario
}

fn play_all(scenario: &Scenario, change: &Change, args: &SimulateArgs, watched: bool) -> Summary {
    let bar = progress(args.runs, watched);
    let runs = side_by_side(args.seed, args.runs, &|| bar.inc(1), &|seed| {
        let scenario = Scenario { seed, ..scenario.clone() };
        let outcome = play(&scenario, &mut Paced::new(&change.policy), &mut |_| {});
        Run { seed, outcome }
    });
    bar.finish_and_clear();
    sum_up(&runs)
}

/// Why the last wish could never be met, even where nothing goes wrong.
fn conflict(change: &Change) -> Option<String> {
    let nature = lockstep_core::simulate::federation::faults::Nature::default();
    let played = Played::ideal(change.clone(), String::new(), None, nature, &mut Paced::new(&change.policy));
    played.refused
}

fn trace(scenario: &Scenario, change: &Change, seed: u64, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let scenario = Scenario { seed, ..scenario.clone() };
    let mut written: anyhow::Result<()> = Ok(());
    let mut write = |event: Event| {
        if written.is_ok() {
            written = serde_json::to_string(&event)
                .map_err(anyhow::Error::from)
                .and_then(|line| writeln!(screen.out, "{line}").map_err(anyhow::Error::from));
        }
    };
    play(&scenario, &mut Paced::new(&change.policy), &mut write);
    written
}
