//! `lockstep promote`: let pauses pass.

use anyhow::{Result, bail};
use lockstep_api::status::BlockedStatus;
use lockstep_core::blocked::Reason;
use lockstep_core::verbs;
use serde_json::json;

use super::answer::give;
use super::args::PromoteArgs;
use super::home::Home;
use super::memory;
use crate::exit::Exit;
use crate::input::live_set::{LiveSet, now};
use crate::screen::Screen;
use crate::show::words;

/// Runs the command.
pub async fn run(args: &PromoteArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    act(&Home::open(&args.set.cluster).await?, args, screen).await
}

/// Promotes where the set lives.
pub async fn act(home: &Home, args: &PromoteArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let name = &args.set.name;
    let said = memory::change(home, name, |set, spec, memory| {
        if let Some(group) = args.group.filter(|group| *group >= spec.replicas) {
            bail!("{name} has no group {group}; it has {}", words::count(spec.replicas, "group"));
        }
        let held = held(set, args.group);
        match verbs::promote(spec, memory, args.group, now()) {
            0 => bail!("no pause holds {name}{} now", of_group(args.group)),
            _ => Ok(held),
        }
    })
    .await?;
    let value = json!({"name": name, "namespace": home.namespace, "group": args.group, "promoted": said});
    give(screen, args.set.output, &value, || {
        let what = if said.is_empty() { "a pause".to_owned() } else { words::list(&said) };
        let whom = if args.group.is_none() { ", in all groups, also those still to come" } else { "" };
        format!("lockstepset {name:?}{} promoted past {what}{whom}\n", of_group(args.group))
    })?;
    Ok(Exit::Fine)
}

fn of_group(group: Option<u32>) -> String {
    group.map(|group| format!(" group {group}")).unwrap_or_default()
}

/// The pauses that hold, by the fields that say so.
fn held(set: &LiveSet, group: Option<u32>) -> Vec<String> {
    let pause = Reason::PauseStep.to_string();
    let of_group = |blocked: &BlockedStatus| {
        let (group_name, _) = blocked.what.split_once('/').unwrap_or((&blocked.what, ""));
        group.is_none_or(|group| group_name == format!("{}-{group}", set.name))
    };
    let blocked = set.status.rollout.blocked.iter();
    let mut rules: Vec<String> =
        blocked.filter(|b| b.reason == pause && of_group(b)).map(|b| b.rule.clone()).collect();
    rules.sort();
    rules.dedup();
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_of_one_group() {
        let blocked =
            |what: &str, reason: &str, rule: &str| json!({"what": what, "reason": reason, "rule": rule});
        let object = json!({
            "metadata": {"name": "llama"}, "spec": {},
            "status": {"rollout": {"phase": "Progressing", "blocked": [
                blocked("llama-1/prefill-3", "PauseStep", "coordination[canary].steps[1]"),
                blocked("llama-1/decode-0", "PauseStep", "coordination[canary].steps[1]"),
                blocked("llama-10/decode-0", "PauseStep", "coordination[canary].steps[3]"),
                blocked("llama-0", "GroupsExhausted", "updateStrategy.maxUnavailable"),
            ]}},
        });
        let set = LiveSet::of(serde_json::from_value(object).unwrap()).unwrap();
        assert_eq!(held(&set, Some(1)), ["coordination[canary].steps[1]"]);
        assert_eq!(held(&set, None), ["coordination[canary].steps[1]", "coordination[canary].steps[3]"]);
        assert!(held(&set, Some(0)).is_empty());
    }
}
