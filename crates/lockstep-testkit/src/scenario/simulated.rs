//! Playing a scenario in the model world.

use std::time::Duration;

use lockstep_core::simulate::faults::{Faults, Nature, Span, Strike};
use lockstep_core::simulate::{self, Scenario as Model};
use lockstep_core::time::Millis;

use super::{Happening, Played, Scenario, ScenarioError, Verdict};

pub(super) fn play(scenario: &Scenario) -> Result<Verdict, ScenarioError> {
    let (shortest, longest) = scenario.starts_in;
    let mut model = Model {
        initial: Some(scenario.given.spec().clone()),
        present: None,
        changes: Vec::new(),
        nature: Nature {
            start_up_default: Span { min: millis(shortest), max: millis(longest) },
            termination: Span::fixed(millis(scenario.terminates_in)),
            ..Nature::default()
        },
        faults: Faults {
            never_ready: scenario.given.never_ready().into_iter().collect(),
            ..Faults::default()
        },
        seed: 0,
        limit: millis(scenario.limit),
        most_plans: u64::MAX,
    };
    for (after, happening) in &scenario.happenings {
        let after = millis(*after);
        match happening {
            Happening::Change(workload) => {
                model.faults.never_ready.extend(workload.never_ready());
                model.changes.push((after, workload.spec().clone()));
            }
            Happening::Strike { of, blow } => {
                model.faults.strikes.push(Strike { after, of: of.clone(), by: *blow });
            }
            other @ (Happening::Abort | Happening::Node { .. }) => {
                return Err(ScenarioError::OnClustersOnly(format!("{other:?}")));
            }
        }
    }
    let mut events = Vec::new();
    let outcome = simulate::run(&model, &mut |event| events.push(event));
    let interruptions = Vec::new();
    Ok(scenario.verdict(Played { world: "simulation", events, end: outcome.end, interruptions }))
}

fn millis(time: Duration) -> Millis {
    Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
