//! One plan as tables: what to do, what waits, how many there are.

use std::fmt::Write;

use lockstep_core::blocked::Blocked;
use lockstep_core::model::Spec;
use lockstep_core::plan::{Action, Create, CreateWhy, DeleteWhy, InstanceRef, Plan};
use lockstep_core::revision::Revision;
use lockstep_core::status::{Phase, RoleStatus};
use lockstep_core::time::Time;

use super::words;
use crate::screen::Paint;

/// The whole plan for people.
pub fn show(spec: &Spec, plan: &Plan, now: Time, paint: Paint) -> String {
    let mut text = String::new();
    let status = &plan.status;
    let groups = words::count(status.replicas, "group");
    let phase = phase_words(status.phase);
    let line =
        format!("{}: {phase}; {} of {groups} ready, {} updated", spec.name, status.ready, status.updated);
    let _ = writeln!(text, "{}", paint.bold(&line));
    let rows: Vec<Vec<String>> = status.roles.iter().map(role_row).collect();
    let header =
        ["role", "wished", "ready", "available", "updated", "updated, ready", "to update", "revision"];
    let _ = writeln!(text, "\n{}", words::table(&header, &rows));
    for rule in &status.coordination {
        let _ = writeln!(text, " {}-{} {}: {}", spec.name, rule.group, rule.rule, rule.text);
    }
    if plan.actions.is_empty() {
        let _ = writeln!(text, "\nNothing to do now.");
    } else {
        let rows: Vec<Vec<String>> =
            plan.actions.iter().map(|action| action_row(spec, plan, action)).collect();
        let _ = writeln!(text, "\n{}", words::table(&["do", "instance", "revision", "because"], &rows));
    }
    if !plan.blocked.is_empty() {
        let row = |b: &Blocked| {
            let since = now.since(b.since);
            let since = if since.0 == 0 { "now".to_owned() } else { format!("{since} ago") };
            vec![b.what.clone(), b.reason.to_string(), since, format!("{}\nby {}", b.message, b.rule)]
        };
        let rows: Vec<Vec<String>> = plan.blocked.iter().map(row).collect();
        let _ = writeln!(text, "\n{}", words::table(&["blocked", "reason", "since", "why"], &rows));
    }
    if let Some(wake) = plan.wake {
        let _ = writeln!(text, "\nLooks again in {} even if nothing happens.", wake.since(now));
    }
    text
}

fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Complete => "complete",
        Phase::PartitionReached => "partition reached",
        Phase::Progressing => "progressing",
        Phase::Paused => "paused",
        Phase::Stalled => "stalled",
        Phase::RollingBack => "rolling back",
        Phase::RolledBack => "rolled back",
    }
}

fn role_row(role: &RoleStatus) -> Vec<String> {
    let revision = match role.revision.stable {
        Some(stable) if stable != role.revision.update => format!("{stable} → {}", role.revision.update),
        _ => role.revision.update.to_string(),
    };
    let numbers = [role.replicas, role.ready, role.available, role.updated, role.updated_ready, role.target];
    let mut row = vec![role.name.to_string()];
    row.extend(numbers.iter().map(u32::to_string));
    row.push(revision);
    row
}

fn action_row(spec: &Spec, plan: &Plan, action: &Action) -> Vec<String> {
    let name = |of: &InstanceRef| format!("{}-{}/{}-{}", spec.name, of.group, of.role, of.instance);
    let row = |what: &str, of: &InstanceRef, revision: String, why: String| {
        vec![what.to_owned(), name(of), revision, why]
    };
    match action {
        Action::Create(create) => {
            let gated = if create.gated { ", held by a gate" } else { "" };
            let why = format!("{}{}{gated}", create_words(create.why), members(spec, create));
            row("create", &create.of, revision_words(plan, &create.of, create.revision), why)
        }
        Action::Delete(delete) => {
            let cost = if delete.paid { "on budget" } else { "free" };
            row("delete", &delete.of, String::new(), format!("{}, {cost}", delete_words(delete.why)))
        }
        Action::Ungate(ungate) => row("ungate", &ungate.of, String::new(), "its turn has come".to_owned()),
    }
}

/// Which pods, where an instance is made member by member.
fn members(spec: &Spec, create: &Create) -> String {
    if spec.role(&create.of.role).is_none_or(|role| role.member_order.is_empty()) {
        return String::new();
    }
    let mut names: Vec<&str> = create.pods.iter().map(|slot| slot.member.as_str()).collect();
    names.dedup();
    format!(": {}", words::list(&names))
}

fn revision_words(plan: &Plan, of: &InstanceRef, revision: Revision) -> String {
    let role = plan.status.roles.iter().find(|role| role.name == of.role);
    match role {
        Some(role) if role.revision.update == revision => format!("new ({revision})"),
        Some(role) if role.revision.stable == Some(revision) => format!("old ({revision})"),
        _ => revision.to_string(),
    }
}

fn create_words(why: CreateWhy) -> &'static str {
    match why {
        CreateWhy::Recover => "wished for and not there",
        CreateWhy::Surge => "surge: stands in for others",
        CreateWhy::Refill => "pods of it are missing",
    }
}

fn delete_words(why: DeleteWhy) -> &'static str {
    match why {
        DeleteWhy::Update => "comes back new",
        DeleteWhy::Repair => "did not work anyway and comes back",
        DeleteWhy::Mixed => "its pods have two revisions",
        DeleteWhy::Excess => "beyond what is wished for",
        DeleteWhy::GroupRemoved => "the whole group is beyond what is wished for",
        DeleteWhy::SurgeDone => "surge no longer needed",
        DeleteWhy::SurgeOutdated => "surge of a revision no longer wished for",
        DeleteWhy::Recreate => "the whole group comes back new",
        DeleteWhy::FailedPod => "a pod of it ended",
        DeleteWhy::Restart => "a pod of it failed",
        DeleteWhy::GangTermination => "the group was below its minimum for too long",
        DeleteWhy::RoleRemoved => "the role was removed",
    }
}
