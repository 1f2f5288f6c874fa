//! What a rollout over clusters will do.

use lockstep_core::simulate::federation::faults::Nature;
use lockstep_core::simulate::federation::{Start, Turns};
use lockstep_federation::rehearsal::Paced;

use super::{apply, say as say_pace};
use crate::args::{PlanArgs, PlanForm};
use crate::commands::say;
use crate::exit::Exit;
use crate::input::spread::Change;
use crate::input::texts::Texts;
use crate::screen::Screen;
use crate::show::over_clusters::{json, svg, table, title};
use crate::story::spread::lanes;
use crate::story::spread::played::Played;
use crate::story::spread::rows::{Pauses, rows};

/// Runs the command.
pub fn run(texts: Texts, args: &PlanArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let change = Change::read(texts, args.clusters.as_ref())?;
    say(&change.warnings, screen);
    let line = title::title(&change);
    let policy = change.policy.clone();
    tell(change, line, None, &mut Paced::new(&policy), args, screen)
}

/// Plays the rollout, from what stands if that is given, and says what happens.
pub fn tell(
    change: Change,
    line: String,
    start: Option<Start>,
    turns: &mut dyn Turns,
    args: &PlanArgs,
    screen: &mut Screen<'_>,
) -> anyhow::Result<Exit> {
    let mut nature = Nature::default();
    apply(&args.pace, &mut nature, &change)?;
    let moves = start.is_some() || title::moves(&change);
    let played = Played::ideal(change, line, start, nature, turns);
    match args.output {
        PlanForm::Table => show(&played, moves, args, screen)?,
        PlanForm::Json => {
            serde_json::to_writer_pretty(&mut screen.out, &json::plan(&played))?;
            writeln!(screen.out)?;
        }
        PlanForm::Svg => {
            let order = played.change.to.wish.clusters.iter().map(|it| it.cluster.clone());
            let (lanes, length) = lanes::lanes(&played.events, &order.collect::<Vec<_>>());
            write!(screen.out, "{}", svg::draw(&played.title, &lanes, length))?;
        }
    }
    Ok(if played.refused.is_some() { Exit::CannotFinish } else { Exit::Fine })
}

/// Shows it to a person.
fn show(played: &Played, moves: bool, args: &PlanArgs, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let Played { change, title, nature, outcome, waves, totals, refused, .. } = played;
    writeln!(screen.out, "{}", screen.paint.bold(title))?;
    if !moves {
        return Ok(());
    }
    let assumed = if args.pace.ready.is_empty() { " (assumed; say --ready)" } else { "" };
    let bounds = format!(
        "over all clusters {} may be unavailable and {} too many",
        outcome.totals.max_unavailable, outcome.totals.max_surge
    );
    writeln!(screen.out, "{}{assumed}; {bounds}", say_pace(nature, change))?;
    if change.to.wish.strategy.paused == Some(true) {
        writeln!(screen.out, "paused: nothing moves until it is resumed; from then on:")?;
    }
    let rows = rows(waves, &pauses(change), args.all);
    let finishes = refused.is_none();
    if !rows.is_empty() {
        writeln!(screen.out, "\n{}", table::table(&rows, finishes))?;
        writeln!(screen.out, "\n{}", table::totals(totals, outcome, change.from.is_some(), finishes))?;
    }
    if let Some(ending) = played.ending() {
        writeln!(screen.out, "{ending}")?;
    }
    match refused {
        None => writeln!(screen.out, "Can finish: {}", screen.paint.good("yes"))?,
        Some(why) => writeln!(screen.out, "Can finish: {}\n{why}", screen.paint.bad("no"))?,
    }
    Ok(())
}

fn pauses(change: &Change) -> Pauses {
    let policy = &change.policy;
    let said = [("bakeTime", policy.bake_time), ("pauseBetweenClusters", policy.pause_between_clusters)];
    Pauses(said.into_iter().filter_map(|(name, length)| Some((name, length?.0.to_string()))).collect())
}
