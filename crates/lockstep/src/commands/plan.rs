//! `lockstep plan`: what a rollout will do.

use lockstep_api::Problem;
use lockstep_api::proof::conflict::{self, Conflict};
use lockstep_core::model::Spec;
use lockstep_core::simulate::faults::Nature;
use lockstep_core::simulate::trace::{End, Event};
use lockstep_core::simulate::{Outcome, Present, Scenario, run as play};
use lockstep_core::time::Millis;

use super::{over_clusters, say};
use crate::args::{Pace, PlanArgs, PlanForm};
use crate::exit::Exit;
use crate::input::complaint::{BadInput, Complaint};
use crate::input::manifest::{Manifest, read_pair};
use crate::input::pace;
use crate::input::texts::Texts;
use crate::screen::Screen;
use crate::show::plan_json::{self, Told};
use crate::show::title::{Title, title};
use crate::show::{plan_table, svg};
use crate::story::stage::Stage;
use crate::story::totals::{Totals, add_up};
use crate::story::waves::Wave;
use crate::story::{fold, lanes, waves};

/// A rollout played in an ideal world.
pub struct Played {
    /// What it is about.
    pub title: Title,
    /// What happened.
    pub events: Vec<Event>,
    /// How it went.
    pub outcome: Outcome,
    /// How the world was.
    pub nature: Nature,
    /// Wave by wave.
    pub waves: Vec<Wave>,
    /// All in all.
    pub totals: Totals,
    /// Why it cannot finish.
    pub conflict: Option<Conflict>,
}

/// Runs the command.
pub fn run(args: &PlanArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let Some(to) = &args.to else { anyhow::bail!("--to is required: the manifest that is wished for") };
    let texts = Texts::read(&args.from, to);
    if args.clusters.is_some() || texts.are_spread() {
        return over_clusters::plan(texts, args, screen);
    }
    let (from, to) = read_pair(texts)?;
    say(&to.warnings, screen);
    tell(from.as_ref(), &to, None, args, screen)
}

/// Plays the rollout, from what stands if that is given, and says what happens.
pub fn tell(
    from: Option<&Manifest>,
    to: &Manifest,
    present: Option<&Present>,
    args: &PlanArgs,
    screen: &mut Screen<'_>,
) -> anyhow::Result<Exit> {
    let played = play_ideal(from, to, present, &args.pace)?;
    warn_of_deadline(&played.nature, to, screen);
    match args.output {
        PlanForm::Table => show(&played, from, to, args, screen)?,
        PlanForm::Json => {
            let told = Told {
                from: from.map(|from| &from.spec),
                to: &to.spec,
                title: &played.title.text,
                waves: &played.waves,
                totals: &played.totals,
                outcome: &played.outcome,
                conflict: played.conflict.as_ref(),
            };
            serde_json::to_writer_pretty(&mut screen.out, &plan_json::plan(&told))?;
            writeln!(screen.out)?;
        }
        PlanForm::Svg => {
            let (lanes, length) = lanes::lanes(&played.events, &to.spec, played.outcome.began.0);
            write!(screen.out, "{}", svg::draw(&played.title.text, &to.spec, &lanes, length))?;
        }
    }
    Ok(exit(played.conflict.as_ref()))
}

fn exit(conflict: Option<&Conflict>) -> Exit {
    if conflict.is_some() { Exit::CannotFinish } else { Exit::Fine }
}

/// Plays the rollout where nothing goes wrong.
pub fn play_ideal(
    from: Option<&Manifest>,
    to: &Manifest,
    present: Option<&Present>,
    pace: &Pace,
) -> Result<Played, BadInput> {
    let from_spec = from.map(|from| &from.spec);
    let mut nature = Nature::default();
    let specs: Vec<&Spec> = from_spec.into_iter().chain([&to.spec]).collect();
    pace::apply(pace, &mut nature, &specs)?;
    let scenario = Scenario {
        initial: from_spec.cloned(),
        present: present.cloned(),
        changes: vec![(Millis(0), Spec { paused: false, ..to.spec.clone() })],
        nature: nature.clone(),
        ..Scenario::ideal(to.spec.clone(), to.spec.clone())
    };
    let mut events = Vec::new();
    let outcome = play(&scenario, &mut |event| events.push(event));
    let waves = waves::cut(&events, from_spec);
    let totals = add_up(&events, from_spec);
    // Whoever has aborted, or was rolled back, gets back: that is the end then.
    let goes_back = present.is_some_and(|present| goes_back(present, &to.spec));
    let finishes = can_finish(outcome.end) || (goes_back && outcome.end == End::RolledBack);
    let conflict = (!finishes).then(|| {
        let mut stage = Stage::default();
        events.iter().for_each(|event| stage.see(event));
        let Conflict { rules, message } = match outcome.end {
            End::RolledBack => Conflict { rules: Vec::new(), message: too_slow(&to.spec) },
            _ => conflict::explain(&to.set, &to.spec, &stage, &outcome.blocked),
        };
        let problem = Problem { path: "spec".to_owned(), value: None, message, line: None };
        Conflict { rules, message: to.told(&problem).message }
    });
    let title = match present {
        Some(_) => title(from, to).midway(to, goes_back),
        None => title(from, to),
    };
    Ok(Played { title, events, outcome, nature, waves, totals, conflict })
}

/// A rollout whose pods start more slowly than its deadline counts as stalled while it goes well.
fn warn_of_deadline(nature: &Nature, to: &Manifest, screen: &mut Screen<'_>) {
    let deadline = to.spec.progress_deadline;
    for role in &to.spec.roles {
        let start = nature.start_up.get(&role.name).unwrap_or(&nature.start_up_default).max + role.min_ready;
        if start >= deadline {
            let message = format!(
                "{} takes {start} to become available, progressDeadlineSeconds is {deadline}: \
                 the rollout counts as stalled meanwhile",
                role.name
            );
            let path = "spec.progressDeadlineSeconds".to_owned();
            let problem = to.told(&Problem { path, value: None, message, line: None });
            say(&[Complaint::warning(&to.file, problem)], screen);
        }
    }
}

fn can_finish(end: End) -> bool {
    matches!(end, End::Complete | End::PartitionReached | End::Paused)
}

/// The set is on its way back, or is back, until its spec changes.
fn goes_back(present: &Present, to: &Spec) -> bool {
    present.snapshot.memory.overridden.as_ref().is_some_and(|it| it.spec == to.revision())
}

fn too_slow(spec: &Spec) -> String {
    format!(
        "no instance is available within spec.progressDeadlineSeconds ({}), and spec.onFailure is Rollback: \
         it would go back. Raise progressDeadlineSeconds above the start-up time",
        spec.progress_deadline
    )
}

/// Shows it to a person.
fn show(
    played: &Played,
    from: Option<&Manifest>,
    to: &Manifest,
    args: &PlanArgs,
    screen: &mut Screen<'_>,
) -> anyhow::Result<()> {
    writeln!(screen.out, "{}", screen.paint.bold(&played.title.text))?;
    if !played.title.moves {
        return Ok(());
    }
    let assumed = if args.pace.ready.is_empty() { " (assumed; say --ready)" } else { "" };
    writeln!(screen.out, "{}{assumed}", pace::say(&played.nature, &to.spec))?;
    if to.spec.paused {
        writeln!(screen.out, "paused: nothing moves until spec.paused is false; from then on:")?;
    }
    show_table(played, from, to, args.all, screen)
}

/// The table and what it comes to.
pub fn show_table(
    played: &Played,
    from: Option<&Manifest>,
    to: &Manifest,
    all: bool,
    screen: &mut Screen<'_>,
) -> anyhow::Result<()> {
    let rows = fold::rows(&played.waves, &to.spec, from.is_none(), all);
    if !rows.is_empty() {
        writeln!(screen.out, "\n{}", plan_table::table(&rows, played.conflict.is_none()))?;
        let time = played.conflict.is_none().then_some(played.outcome.duration.0);
        let totals = plan_table::totals(&played.totals, &to.spec, time);
        writeln!(screen.out, "\n{totals}")?;
    }
    if let Some(ending) = plan_table::ending(played.outcome.end, &to.spec) {
        writeln!(screen.out, "{ending}")?;
    }
    match &played.conflict {
        None => writeln!(screen.out, "Can finish: {}", screen.paint.good("yes"))?,
        Some(conflict) => {
            writeln!(screen.out, "Can finish: {}\n{}", screen.paint.bad("no"), conflict.message)?;
        }
    }
    Ok(())
}
