//! `lockstep simulate`: play a rollout and check every promise.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockstep_core::model::Spec;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::simulate::{Scenario, run as play};
use lockstep_core::time::Millis;

use super::{over_clusters, say};
use crate::args::{SimulateArgs, SimulateForm};
use crate::exit::Exit;
use crate::input::fault_profile::{self, Profile};
use crate::input::manifest::read_pair;
use crate::input::pace;
use crate::input::texts::Texts;
use crate::screen::Screen;
use crate::show::summary::{Failure, Summary, sum_up};
use crate::show::title::title;
use crate::story::runs;

/// Runs the command.
pub fn run(args: &SimulateArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    if args.output == SimulateForm::Jsonl && args.runs > 1 {
        anyhow::bail!("-o jsonl writes the trace of one run: leave --runs out and choose it with --seed");
    }
    let texts = Texts::read(&args.from, &args.to);
    if args.clusters.is_some() || texts.are_spread() {
        return over_clusters::simulate(texts, args, screen);
    }
    let (from, to) = read_pair(texts)?;
    say(&to.warnings, screen);
    let from_spec = from.as_ref().map(|from| &from.spec);
    let mut profile = match &args.faults {
        Some(path) => Profile::read(path, from_spec, &to.spec)?,
        None => Profile::ideal(),
    };
    let specs: Vec<&Spec> = from_spec.into_iter().chain([&to.spec]).collect();
    pace::apply(&args.pace, &mut profile.nature, &specs)?;
    let scenario = scenario(from_spec, &to.spec, &profile);
    if args.output == SimulateForm::Jsonl {
        trace(&scenario, args.seed, screen)?;
    }
    let mut summary = play_all(&scenario, &profile, args.seed, args.runs, screen.watched);
    let conflict = conflicts(&scenario);
    if conflict {
        summary.excuse("the rules block each other: `lockstep plan` says which");
    }
    match args.output {
        // The trace has been written; what is left to say is the exit code.
        SimulateForm::Jsonl => {}
        SimulateForm::Json => {
            serde_json::to_writer_pretty(&mut screen.out, &summary)?;
            writeln!(screen.out)?;
        }
        SimulateForm::Summary => {
            writeln!(screen.out, "{}", screen.paint.bold(&title(from.as_ref(), &to).text))?;
            writeln!(
                screen.out,
                "{}; {}\n",
                pace::say(&profile.nature, &to.spec),
                fault_profile::say(&profile)
            )?;
            show(&summary, screen)?;
        }
    }
    Ok(match conflict {
        _ if !summary.broken.is_empty() => Exit::PromiseBroken,
        true => Exit::CannotFinish,
        false => Exit::Fine,
    })
}

/// What is to be played.
pub fn scenario(from: Option<&Spec>, to: &Spec, profile: &Profile) -> Scenario {
    let first = (Millis(0), to.clone());
    Scenario {
        initial: from.cloned(),
        changes: std::iter::once(first).chain(profile.changes.iter().cloned()).collect(),
        nature: profile.nature.clone(),
        faults: profile.faults.clone(),
        limit: profile.limit,
        ..Scenario::ideal(to.clone(), to.clone())
    }
}

/// Plays all runs and sums them up.
pub fn play_all(scenario: &Scenario, profile: &Profile, seed: u64, count: u64, watched: bool) -> Summary {
    let bar = progress(count, watched);
    let runs = runs::play(scenario, seed, count, &|| bar.inc(1));
    bar.finish_and_clear();
    let to = scenario.changes.last().map(|(_, spec)| spec);
    let mut summary = sum_up(&runs);
    if let Some(why) = to.and_then(|to| profile.may_hold(to)) {
        summary.excuse(&why);
    }
    summary
}

/// A bar that says how many of the runs are done, if anybody watches.
pub fn progress(count: u64, watched: bool) -> ProgressBar {
    if count < 2 || !watched {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn trace(scenario: &Scenario, seed: u64, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let scenario = Scenario { seed, ..scenario.clone() };
    let mut written: anyhow::Result<()> = Ok(());
    play(&scenario, &mut |event| {
        if written.is_ok() {
            written = serde_json::to_string(&event)
                .map_err(anyhow::Error::from)
                .and_then(|line| writeln!(screen.out, "{line}").map_err(anyhow::Error::from));
        }
    });
    written
}

/// The summary and the promises for people.
pub fn show(summary: &Summary, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    writeln!(screen.out, "{}\n", summary.text())?;
    show_promises(summary.runs, &summary.broken, screen)
}

/// Whether the promises were kept, and if not, where to look.
pub fn show_promises(runs: u64, broken: &[Failure], screen: &mut Screen<'_>) -> anyhow::Result<()> {
    if broken.is_empty() {
        let runs = crate::show::words::count(runs, "run");
        writeln!(screen.out, "Promises: {} in {runs}", screen.paint.good("all kept"))?;
        return Ok(());
    }
    let count = crate::show::words::count(broken.len() as u64, "time");
    writeln!(screen.out, "Promises: {}", screen.paint.bad(&format!("broken {count}")))?;
    for failure in broken.iter().take(10) {
        let (promise, t, detail) = (&failure.promise, failure.t, &failure.detail);
        writeln!(screen.out, "  seed {}, at {}: {promise}: {detail}", failure.seed, Millis(t))?;
    }
    let seed = broken[0].seed;
    writeln!(screen.out, "Replay with the same files and --seed {seed} -o jsonl")?;
    Ok(())
}

/// Whether the last wish could never be met, even in an ideal world.
fn conflicts(scenario: &Scenario) -> bool {
    let last = scenario.changes.last().map(|(_, spec)| spec);
    last.is_some_and(|to| matches!(prove(scenario.initial.as_ref(), to), Proof::Blocked(_)))
}
