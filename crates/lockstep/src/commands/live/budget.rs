//! `lockstep budget`: what may be taken away now, unit by unit, and who was promised what.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use lockstep_api::budget::PodUnavailableBudget;

use super::answer::give;
use super::args::BudgetArgs;
use crate::budgets::asked::nobody_is_asked;
use crate::budgets::gather::{Gathered, budgets};
use crate::budgets::held::Held;
use crate::exit::Exit;
use crate::input::live_set::now;
use crate::screen::Screen;
use crate::show::budget_table::{draw, draw_list, tell};

/// Runs the command.
pub async fn run(args: &BudgetArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let (client, namespace) = args.cluster.client().await?;
    let within = (!args.all_namespaces).then_some(namespace.as_str());
    let Some(mut listed) = budgets(&client, within).await? else {
        return Err(anyhow!("the cluster does not know PodUnavailableBudgets. Run `lockstep install`"));
    };
    if let Some(name) = &args.name {
        listed.retain(|budget| budget.metadata.name.as_ref() == Some(name));
        if listed.is_empty() {
            return Err(anyhow!("podunavailablebudget {name:?} not found in namespace {namespace:?}"));
        }
    }
    let mut by_namespace: BTreeMap<String, Vec<PodUnavailableBudget>> = BTreeMap::new();
    for budget in listed {
        by_namespace.entry(budget.metadata.namespace.clone().unwrap_or_default()).or_default().push(budget);
    }
    let mut told = Vec::new();
    for (namespace, budgets) in by_namespace {
        let gathered = Gathered::of(&client, &namespace, &budgets).await?;
        let unasked = nobody_is_asked(&client, &namespace).await?;
        for budget in budgets {
            told.push(tell(&Held::of(&budget, &gathered)?, unasked.as_deref(), now()));
        }
    }
    let paint = screen.paint;
    match (&args.name, told.as_slice()) {
        (Some(_), [one]) => give(screen, args.output, one, || draw(one, now(), paint))?,
        (_, []) if args.output == Default::default() => {
            let place = within.unwrap_or("any");
            writeln!(screen.err, "No PodUnavailableBudgets in {place} namespace.")?;
        }
        _ => give(screen, args.output, &told, || draw_list(&told, args.all_namespaces, paint))?,
    }
    Ok(Exit::Fine)
}
